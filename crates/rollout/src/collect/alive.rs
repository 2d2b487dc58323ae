//! Dynamic sampling with back-fill: tasks are drawn until enough groups have something to teach.
//!
//! A group in which all pass the same tests gives no gradient (DAPO, arXiv 2503.14476, section 3.2);
//! [`Spread::is_alive`](whetstone_core::group::Spread::is_alive) has the rule. So as many tasks are drawn as groups are missing, again and again: a round never draws more than
//! could be used, and so no group that was paid for is thrown away alive. Later rounds are smaller
//! than the machine could take; drawing more at a guess would sample groups that the next step would
//! have to train on late.

use whetstone_infer::{Generator, Usage};

use super::{Asked, CollectError, Collected, Collecting, Group, Timeline, driver, error};

/// Count of live groups wanted, and the bound on rounds of sampling.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Supply {
    /// Groups that are alive.
    pub wanted: usize,
    /// Rounds at most; the first draws `wanted` tasks.
    pub max_rounds: usize,
    /// The spread of rewards without a tests term from which a group is alive.
    pub floor: f64,
}

/// Groups that were collected until enough were alive.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Alive {
    /// Groups that are alive, in the order of their tasks; at most as many as were wanted.
    pub live: Vec<Group>,
    /// The others: tests that do not differ, or fewer than two rollouts that could be judged.
    pub dead: Vec<Group>,
    /// The places of the live groups' tasks among those that were drawn.
    pub live_places: Vec<usize>,
    /// Those of the dead groups.
    pub dead_places: Vec<usize>,
    /// Tasks that were drawn. A run that goes on begins so many further.
    pub consumed: usize,
    /// Rounds that it took.
    pub rounds: usize,
    /// The generator's work, over all rounds.
    pub usage: Usage,
    /// Times; groups are numbered on from round to round, in the order they were drawn.
    pub timeline: Timeline,
}

/// Collects groups until enough of them are alive, the rounds are over, or `asked` ends.
///
/// Progress is told of each round by itself.
///
/// # Errors
///
/// As for [`collect`](super::collect), over all rounds together: that nothing was judged in one of
/// them is no error if something was in another.
pub fn collect_alive<'t>(
    collecting: &Collecting<'_>,
    generator: &mut dyn Generator,
    supply: Supply,
    asked: &mut dyn Iterator<Item = Asked<'t>>,
) -> Result<Alive, CollectError> {
    let mut alive = Alive::default();
    while alive.rounds < supply.max_rounds && alive.live.len() < supply.wanted {
        let missing = supply.wanted - alive.live.len();
        let next: Vec<Asked<'t>> = (&mut *asked).take(missing).collect();
        if next.is_empty() {
            break;
        }
        alive.add(driver::collect_all(collecting, generator, &next)?, supply.floor);
    }
    error::something_judged(alive.live.iter().chain(&alive.dead))?;
    Ok(alive)
}

impl Alive {
    /// Adds a round.
    fn add(&mut self, round: Collected, floor: f64) {
        self.rounds += 1;
        self.timeline.then(round.timeline, self.consumed);
        self.usage = self.usage.and(round.usage);
        for group in round.groups {
            let (groups, places) = if group.is_dead(floor) {
                (&mut self.dead, &mut self.dead_places)
            } else {
                (&mut self.live, &mut self.live_places)
            };
            groups.push(group);
            places.push(self.consumed);
            self.consumed += 1;
        }
    }
}
