//! The families of models: what plants, warehouses, shifts and projects look like as rows.
//!
//! Each draws a plan and builds rows around it; every model has a solution and a bounded optimum by construction.
//! Three families are for validation alone, so that a test never sees a family that was trained on.

use whetstone_solver::{Kind, Objective};

use super::draft::{Draft, NewVariable, Sense};
use crate::part::Partition;
use crate::random::Random;

/// A family of models.
pub(super) struct Family {
    pub(super) name: &'static str,
    pub(super) part: Partition,
    /// Builds a model of a size from 1.
    pub(super) draw: fn(&mut Random, usize) -> Draft,
}

/// All families.
pub(super) const FAMILIES: [Family; 8] = [
    Family { name: "production", part: Partition::Train, draw: production },
    Family { name: "transport", part: Partition::Train, draw: transport },
    Family { name: "inventory", part: Partition::Train, draw: inventory },
    Family { name: "staffing", part: Partition::Train, draw: staffing },
    Family { name: "assignment", part: Partition::Train, draw: assignment },
    Family { name: "blending", part: Partition::Validation, draw: blending },
    Family { name: "network", part: Partition::Validation, draw: network },
    Family { name: "scheduling", part: Partition::Validation, draw: scheduling },
];

/// Products that share resources, with demands and market limits.
fn production(random: &mut Random, size: usize) -> Draft {
    let mut draft = Draft::new(Objective::Maximize);
    let products: Vec<usize> = (0..2 + size)
        .map(|_| draft.amount("make", random.between(2, 9), random.between(2, 12)))
        .collect();
    for resource in 0..=size {
        let word = ["labour", "machine", "material"][resource % 3];
        let terms: Vec<_> = products.iter().map(|&at| (at, random.between(1, 6))).collect();
        draft.row(word, &terms, Sense::AtMost, random.between(0, 6));
    }
    for &product in &products {
        draft.row("demand", &[(product, 1)], Sense::AtLeast, random.between(0, 2));
        if random.chance(50) {
            draft.row("market", &[(product, 1)], Sense::AtMost, random.between(0, 4));
        }
    }
    draft
}

/// Goods from plants to markets.
fn transport(random: &mut Random, size: usize) -> Draft {
    let mut draft = Draft::new(Objective::Minimize);
    let (plants, markets) = (1 + size, 2 + size);
    let mut routes = Vec::new();
    for _ in 0..plants {
        let row: Vec<usize> = (0..markets)
            .map(|_| draft.amount("ship", random.between(1, 9), random.between(0, 8)))
            .collect();
        routes.push(row);
    }
    for row in &routes {
        let terms: Vec<_> = row.iter().map(|&route| (route, 1)).collect();
        draft.row("supply", &terms, Sense::AtMost, random.between(0, 3));
    }
    for market in 0..markets {
        let terms: Vec<_> = routes.iter().map(|row| (row[market], 1)).collect();
        draft.row("demand", &terms, Sense::AtLeast, random.between(0, 1));
    }
    for row in &routes {
        let route = row[random.below(markets)];
        draft.row("road", &[(route, 1)], Sense::AtMost, random.between(0, 4));
    }
    draft
}

/// Periods with production, stock and demand.
fn inventory(random: &mut Random, size: usize) -> Draft {
    let mut draft = Draft::new(Objective::Minimize);
    let mut before: Option<usize> = None;
    let mut stock = 0;
    for _ in 0..2 + size {
        let made = random.between(2, 12);
        let left = random.between(0, 5).min(stock + made);
        let make = draft.amount("make", random.between(2, 9), made);
        let keep = draft.amount("stock", random.between(1, 3), left);
        let mut terms = vec![(make, 1), (keep, -1)];
        terms.extend(before.map(|at| (at, 1)));
        draft.row("balance", &terms, Sense::Equal, 0);
        draft.row("capacity", &[(make, 1)], Sense::AtMost, random.between(0, 4));
        draft.row("storage", &[(keep, 1)], Sense::AtMost, random.between(0, 3));
        (before, stock) = (Some(keep), left);
    }
    draft
}

/// Workers on shifts that cover the need of each day.
fn staffing(random: &mut Random, size: usize) -> Draft {
    let mut draft = Draft::new(Objective::Minimize);
    let days = 3 + size;
    let shifts: Vec<usize> = (0..days)
        .map(|_| {
            let (cost, plan) = (random.between(3, 9), random.between(1, 6));
            let kind = Kind::Integer;
            draft.variable(NewVariable { word: "shift", cost, plan, upper: Some(20), kind })
        })
        .collect();
    for day in 0..days {
        let terms = [(shifts[day], 1), (shifts[(day + 1) % days], 1)];
        draft.row("cover", &terms, Sense::AtLeast, random.between(0, 1));
    }
    let all: Vec<_> = shifts.iter().map(|&shift| (shift, 1)).collect();
    draft.row("staff", &all, Sense::AtMost, random.between(0, 4));
    let paid: Vec<_> = shifts.iter().map(|&shift| (shift, random.between(2, 5))).collect();
    draft.row("budget", &paid, Sense::AtMost, random.between(0, 9));
    draft
}

/// Jobs given to workers with limited time.
fn assignment(random: &mut Random, size: usize) -> Draft {
    let mut draft = Draft::new(Objective::Minimize);
    let (workers, jobs) = (1 + size, 2 + size);
    let mut given = Vec::new();
    for _ in 0..jobs {
        let chosen = random.below(workers);
        let row: Vec<usize> = (0..workers)
            .map(|worker| {
                let (cost, plan) = (random.between(1, 9), i64::from(worker == chosen));
                let kind = Kind::Integer;
                draft.variable(NewVariable { word: "give", cost, plan, upper: Some(1), kind })
            })
            .collect();
        given.push(row);
    }
    for row in &given {
        let terms: Vec<_> = row.iter().map(|&at| (at, 1)).collect();
        draft.row("job", &terms, Sense::Equal, 0);
    }
    for worker in 0..workers {
        let terms: Vec<_> = given.iter().map(|row| (row[worker], random.between(1, 7))).collect();
        draft.row("time", &terms, Sense::AtMost, random.between(0, 5));
    }
    draft
}

/// A mixture of ingredients with contents to reach and not to exceed.
fn blending(random: &mut Random, size: usize) -> Draft {
    let mut draft = Draft::new(Objective::Minimize);
    let parts: Vec<usize> = (0..2 + size)
        .map(|_| draft.amount("use", random.between(2, 9), random.between(1, 9)))
        .collect();
    let all: Vec<_> = parts.iter().map(|&part| (part, 1)).collect();
    draft.row("weight", &all, Sense::AtLeast, random.between(0, 2));
    for content in 0..=size {
        let terms: Vec<_> = parts.iter().map(|&part| (part, random.between(0, 6))).collect();
        if terms.iter().all(|(_, by)| *by == 0) {
            continue;
        }
        let word = ["protein", "fibre", "sugar", "fat"][content % 4];
        let sense = if random.chance(60) { Sense::AtLeast } else { Sense::AtMost };
        draft.row(word, &terms, sense, random.between(0, 5));
    }
    for &part in &parts {
        draft.row("stock", &[(part, 1)], Sense::AtMost, random.between(0, 4));
    }
    draft
}

/// Flow through a layered network.
fn network(random: &mut Random, size: usize) -> Draft {
    let mut draft = Draft::new(Objective::Minimize);
    let layers = 1 + size;
    let mut into: Vec<Vec<usize>> = Vec::new();
    for layer in 0..=layers {
        let mut arcs = Vec::new();
        for _ in 0..2 {
            let flow = if layer == 0 { random.between(2, 8) } else { 0 };
            arcs.push(draft.amount("flow", random.between(1, 9), flow));
        }
        if layer > 0 {
            // The plan sends on what came in.
            let total: i64 = into[layer - 1].iter().map(|&arc| draft.plan[arc]).sum();
            let first = random.between(0, total);
            (draft.plan[arcs[0]], draft.plan[arcs[1]]) = (first, total - first);
            let mut terms: Vec<_> = into[layer - 1].iter().map(|&arc| (arc, 1)).collect();
            terms.extend(arcs.iter().map(|&arc| (arc, -1)));
            draft.row("node", &terms, Sense::Equal, 0);
        }
        into.push(arcs);
    }
    for arcs in &into {
        for &arc in arcs {
            draft.row("arc", &[(arc, 1)], Sense::AtMost, random.between(0, 4));
        }
    }
    let last: Vec<_> = into[layers].iter().map(|&arc| (arc, 1)).collect();
    draft.row("need", &last, Sense::AtLeast, random.between(0, 2));
    draft
}

/// Tasks of a project with precedence and deadlines.
fn scheduling(random: &mut Random, size: usize) -> Draft {
    let mut draft = Draft::new(Objective::Minimize);
    let count = 3 + size;
    let lengths: Vec<i64> = (0..count).map(|_| random.between(1, 6)).collect();
    let mut start = 0;
    let tasks: Vec<usize> = (0..count)
        .map(|at| {
            let task = draft.amount("start", 0, start);
            start += lengths[at] + random.between(0, 2);
            task
        })
        .collect();
    let end = draft.amount("finish", 1, start);
    for at in 1..count {
        let earlier = at - 1 - usize::from(at > 1 && random.chance(30));
        let gap = draft.plan[tasks[at]] - draft.plan[tasks[earlier]];
        let room = (gap - lengths[earlier]).max(0);
        draft.row("after", &[(tasks[at], 1), (tasks[earlier], -1)], Sense::AtLeast, room);
    }
    for &task in &tasks {
        if random.chance(60) {
            draft.row("deadline", &[(task, 1)], Sense::AtMost, random.between(0, 3));
        }
    }
    let last = tasks[count - 1];
    draft.row("last", &[(end, 1), (last, -1)], Sense::AtLeast, random.between(0, 1));
    draft.row("due", &[(end, 1)], Sense::AtMost, random.between(0, 3));
    draft
}
