//! One slot: a zygote, and the program that is being judged.
// size: the ways to judge a program share the slot's zygote, limits and blame for what stops a child.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use whetstone_core::judgement::{Held, Judgement};
use whetstone_core::program::Language;
use whetstone_core::verdict::Verdict;

use super::broken::Broken;
use super::checked::Checking;
use super::child::{Budget, CLOSING, ChildKind, ChildOptions, ChildProcess};
use super::cores::Permit;
use super::groups::Cgroup;
use super::hard_limits;
use super::nameless::FILE_MAX;
use super::planned::CachedPlan;
use super::room::{SCRATCH_BYTES, too_little, too_little_after};
use super::scratch::Scratch;
use super::setting::{SlotId, SupervisorSettings};
use super::steps::{ProgramSession, StepFailure, StepResult};
use super::stop::Stop;
use super::tally::TestTally;
use super::watch::THREADS_MAX;
use crate::jail::order::{MAGIC, Order};
use crate::job::Limits;
use crate::os::{self, Inherit};
use crate::plan::{Plan, Step};
use crate::protocol::{JudgeRequest, JudgeResponse, Outcome};
use crate::stdio;
use crate::zygote::Zygote;
use crate::zygote::launch::ZygoteKind;

/// A slot.
#[derive(Debug)]
pub(crate) struct Slot {
    id: SlotId,
    pub(super) setting: Arc<SupervisorSettings>,
    pub(super) zygote: Option<Zygote>,
    /// The kind of `zygote`.
    kind: ZygoteKind,
    /// Zygotes of other kinds, if there was a program for them.
    others: Vec<(ZygoteKind, Zygote)>,
    group: Option<Cgroup>,
    scratch: Option<Scratch>,
    /// The program whose end is still to be waited for.
    pub(super) leaving: Option<ChildProcess>,
    /// Something broke with this program before.
    pub(super) second_try: bool,
    /// Its permit to use a core; a trial has none.
    core: Option<Arc<Permit>>,
    /// The time used by the first attempt: both attempts share one budget.
    pub(super) used: Budget,
    /// The plan of the last task.
    planned: CachedPlan,
}

/// A whole program's judgement, or what broke.
pub(super) type Judged = Result<Judgement, Broken>;

/// The verdict of a run that failed, given its test's number.
type Fatal = Box<dyn FnOnce(u32) -> Verdict>;

impl Drop for Slot {
    fn drop(&mut self) {
        // A group and a folder can be removed when no process is in them.
        self.leaving = None;
        self.zygote = None;
        self.others.clear();
    }
}

impl Slot {
    pub(crate) fn new(number: u32, setting: Arc<SupervisorSettings>) -> Self {
        Self {
            id: SlotId::new(number),
            setting,
            zygote: None,
            kind: ZygoteKind::default(),
            others: Vec::new(),
            group: None,
            scratch: None,
            leaving: None,
            second_try: false,
            core: None,
            used: Budget::NOTHING,
            planned: CachedPlan::default(),
        }
    }

    pub(crate) fn number(&self) -> u32 {
        self.id.number
    }

    /// Whether it may judge: its last program did not give the core up.
    pub(crate) fn has_core(&self) -> bool {
        self.core.as_ref().is_some_and(|core| core.is_held())
    }

    /// The next program computes with this permit; without one, nothing is held.
    pub(crate) fn use_core(&mut self, permit: Option<Arc<Permit>>) {
        self.core = permit;
    }

    /// Whether control groups bound this slot's programs.
    pub(crate) fn has_groups(&self) -> bool {
        self.group.is_some()
    }

    /// Runs an empty child, to see whether this way of holding programs works at all.
    pub(crate) fn try_out(&mut self) -> Result<(), String> {
        if self.setting.scratch(self.id).is_some() {
            too_little(&self.setting.scratch).map_or(Ok(()), Err)?;
        }
        let mut child = self.fork(ChildKind::Program, hard_limits::TRIAL, None)?;
        let mut ask = ProgramSession::new(&mut child);
        match ask.load("", "") {
            Ok(()) => Ok(()),
            Err(StepFailure::Stopped(Stop::Broken(problem))) => Err(problem),
            Err(StepFailure::Stopped(stop)) => {
                let limits = hard_limits::in_force();
                Err(format!("an empty program fails: {}{limits}", stop.text()))
            }
            Err(other) => Err(format!("an empty program fails: {other:?}")),
        }
    }

    /// Judges one program; where the machine breaks it is tried a second time, with a fresh zygote.
    pub(crate) fn judge(&mut self, request: &JudgeRequest) -> JudgeResponse {
        self.used = Budget::NOTHING;
        let outcome = match self.planned.plan(request) {
            Err(problem) => Outcome::BrokenTests(problem),
            Ok(plan) => match self.attempt(request, &plan).or_else(|broken| {
                if matches!(broken, Broken::Tests(_)) || CLOSING.load(Ordering::Relaxed) {
                    return Err(broken);
                }
                self.zygote = None;
                self.second_try = true;
                let judged = self.attempt(request, &plan);
                self.second_try = false;
                judged
            }) {
                Ok(judgement) => Outcome::Judged(judgement),
                Err(broken) => broken.into(),
            },
        };
        JudgeResponse { id: request.id, outcome }
    }

    /// Waits for the end of the last program, and clears up after it.
    pub(crate) fn rest(&mut self) {
        if let Some(mut child) = self.leaving.take() {
            child.end(None);
        }
        if self.scratch.as_mut().is_some_and(|scratch| scratch.clear().is_err()) {
            // A new folder of ours, and new zygotes that know it.
            self.scratch = None;
            self.zygote = None;
            self.others.clear();
        }
    }

    /// Makes `zygote` the one for programs of this kind.
    pub(super) fn speak(&mut self, kind: impl Into<ZygoteKind>) {
        let kind = kind.into();
        if self.kind != kind {
            let before = std::mem::replace(&mut self.kind, kind);
            self.others.extend(self.zygote.take().map(|zygote| (before, zygote)));
            let kept = self.others.iter().position(|(other, _)| *other == kind);
            self.zygote = kept.map(|at| self.others.swap_remove(at).1);
        }
    }

    fn attempt(&mut self, request: &JudgeRequest, plan: &Plan) -> Judged {
        self.rest();
        self.speak(request.program.language);
        let judged = if matches!(plan.steps.first(), Some(Step::Run { .. })) {
            self.run_script(request, plan)
        } else if let Some(checker) = &plan.checker {
            self.call_for_checker(request, plan, checker)
        } else {
            self.call_program(request, plan)
        };
        let judgement = judged?;
        // Without its interpreter's library an honest program fails too.
        let python = request.program.language == Language::Python;
        if python && !judgement.verdict().is_pass() && !self.setting.interpreter.is_there() {
            let path = self.setting.interpreter.path.display();
            return Err(format!("the interpreter {path} or its library is gone").into());
        }
        if python && !judgement.verdict().is_pass() && self.scratch.is_some() {
            let setting = self.setting.clone();
            if let Some(problem) = too_little_after(&setting.scratch, || self.rest()) {
                return Err(problem.into());
            }
        }
        Ok(judgement)
    }

    /// Loads the program once and asks it for each test.
    fn call_program(&mut self, request: &JudgeRequest, plan: &Plan) -> Judged {
        let limits = limits(request);
        let mut tally = TestTally::new(plan.steps.len());
        let mut child = self.fork(ChildKind::Program, limits, None)?;
        let mut checker: Option<ChildProcess> = None;
        let mut stop = None;
        self.set_up(&mut child, plan, limits)?;
        match ProgramSession::new(&mut child).load(&request.program.source, &plan.after) {
            Err(StepFailure::Stopped(problem)) => {
                stop = Some(problem);
            }
            Err(failure) => tally.fail_loading(failure.while_loading()),
            Ok(()) => {
                for (number, step) in plan.steps.iter().enumerate() {
                    let test = u32::try_from(number).unwrap_or(u32::MAX);
                    let result = if let Step::Check { .. } = step {
                        let sides = Sides { child: &mut child, checker: &mut checker, limits };
                        let result = self.check(sides, &plan.checker_setup, step)?;
                        // What a program does while its checker is waited for counts as well.
                        child.exceeds().map_or(result, |stop| Err(stop.into()))
                    } else {
                        ProgramSession::new(&mut child).step(step)
                    };
                    match result {
                        Ok(StepResult::Right) => tally.pass(),
                        Ok(StepResult::Wrong(got)) => tally.wrong(test, got),
                        Err(StepFailure::Test(problem)) => {
                            return Err(Broken::test(test, &problem));
                        }
                        Err(StepFailure::Stopped(problem)) => {
                            stop = Some(problem);
                            let how = self.how(&mut child, stop.as_ref(), limits)?;
                            tally.fail(how.verdict(Some(test)));
                            break;
                        }
                        Err(failure) => tally.fail(failure.in_test(test)),
                    }
                }
            }
        }
        if let (Some(stop), true) = (&stop, tally.is_clean()) {
            tally.fail_loading(self.how(&mut child, Some(stop), limits)?.verdict(None));
        }
        let cpu = match stop {
            Some(_) => child.end(stop.as_ref()).cpu,
            // It has answered all it will be asked: its end need not be waited for.
            None => child.leave(),
        };
        self.leaving = Some(child);
        Ok(tally.judgement(self.held(cpu))?)
    }

    /// Runs what a setup does before the program: if it fails, the task is at fault.
    pub(super) fn set_up(
        &mut self,
        child: &mut ChildProcess,
        plan: &Plan,
        limits: Limits,
    ) -> Result<(), Broken> {
        if plan.before.is_empty() {
            return Ok(());
        }
        let problem = match ProgramSession::new(child).set_up(&plan.before, &plan.steps) {
            Ok(()) => return Ok(()),
            Err(StepFailure::Raised(raised)) => format!("it raises {}", raised.kind),
            Err(StepFailure::Stopped(stop)) => match self.how(child, Some(&stop), limits)? {
                How::Timeout => "it does not come to an end".to_owned(),
                how => format!("its process ends: {how:?}"),
            },
            Err(StepFailure::Opaque | StepFailure::Test(_)) => "it gives no answer".to_owned(),
        };
        Err(Broken::Tests(format!("the setup cannot be used: {problem}")))
    }

    /// Runs test code in the checker, which is made for the first of a program's tests.
    ///
    /// What earlier tests did with a program's answers may have used up the checker: before it counts
    /// as the test's own fault that it cannot go on, it is tried in a fresh one.
    fn check(
        &mut self,
        sides: Sides<'_>,
        setup: &str,
        step: &Step,
    ) -> Result<Result<StepResult, StepFailure>, String> {
        let Sides { child, checker, limits } = sides;
        if let Some(used) = checker {
            let result = ProgramSession::new(child).check(used, setup, step);
            if !matches!(result, Err(StepFailure::Test(_))) {
                return Ok(result);
            }
        }
        let mut fresh = match self.fork(ChildKind::Checker, limits, None) {
            Ok(fresh) => fresh,
            // A program that takes all there is leaves nothing for its checker.
            Err(problem) => {
                let killed = self.has_killed();
                let stop = child.exceeds_now().or(killed.then_some(Stop::Memory));
                return stop.map_or(Err(problem), |stop| Ok(Err(stop.into())));
            }
        };
        fresh.stand_beside(child);
        let result = ProgramSession::new(child).check(checker.insert(fresh), setup, step);
        // A test's own process was killed because the program had filled their group.
        let killed = matches!(result, Err(StepFailure::Test(_))) && self.has_killed();
        Ok(if killed { Err(Stop::Memory.into()) } else { result })
    }

    /// Runs the program anew for each test, as long as there is time for all of them together.
    fn run_script(&mut self, request: &JudgeRequest, plan: &Plan) -> Judged {
        let limits = limits(request);
        let mut tally = TestTally::new(plan.steps.len());
        let mut cpu = Duration::ZERO;
        let mut left = Budget::for_all_runs(limits).less(self.used);
        let mut checking = plan.checker.as_deref().map(|checker| Checking::new(checker, request));
        for (number, step) in plan.steps.iter().enumerate() {
            let Step::Run { input, any_of } = step else { continue };
            let test = u32::try_from(number).unwrap_or(u32::MAX);
            self.rest();
            // A run that is over before its clocks are looked at must not be one too many.
            if left.is_spent() {
                tally.fail(Verdict::Timeout);
                break;
            }
            let budget = Budget::for_one(limits).at_most(left);
            let mut child = self.fork_within(ChildKind::Script, limits, Some(input), budget)?;
            let fatal = self.run_once(&mut child, &request.program.source, limits)?;
            let used = Budget { cpu: child.end(None).cpu, wall: child.watched() };
            cpu += used.cpu;
            left = left.less(used);
            self.used = self.used.and(used);
            match fatal {
                None => match child.written() {
                    Ok(None) => tally.wrong(test, None),
                    Ok(Some(output)) => match &mut checking {
                        None if stdio::matches(output, any_of, plan.compare) => tally.pass(),
                        None => tally.wrong(test, Some(stdio::beginning(output))),
                        Some(checking) => {
                            let found = self.check_output(checking, step, output, test)?;
                            if !found.enter(&mut tally, test, || Some(stdio::beginning(output))) {
                                break;
                            }
                        }
                    },
                    Err(Stop::Broken(problem)) => return Err(problem.into()),
                    Err(_) => tally.fail(Verdict::Output),
                },
                Some(fatal) => {
                    let verdict = fatal(test);
                    let hopeless =
                        matches!(verdict, Verdict::Timeout | Verdict::Output | Verdict::Memory);
                    tally.fail(verdict);
                    // Each further test could take as long.
                    if hopeless {
                        break;
                    }
                }
            }
        }
        Ok(tally.judgement(self.held(cpu))?)
    }

    /// One run of a script to its end; what keeps its output from counting, if anything does.
    ///
    /// That it says it is done, or shuts its channel, is not its end: only when the process has left
    /// by itself does what it wrote decide.
    fn run_once(
        &mut self,
        child: &mut ChildProcess,
        source: &str,
        limits: Limits,
    ) -> Result<Option<Fatal>, Broken> {
        let stop = match ProgramSession::new(child).run(source) {
            Ok(()) | Err(StepFailure::Stopped(Stop::Closed)) => {
                child.finish().err().unwrap_or(Stop::Closed)
            }
            Err(StepFailure::Stopped(stop)) => stop,
            Err(failure) => return Ok(Some(Box::new(|test| failure.in_test(test)))),
        };
        let how = self.how(child, Some(&stop), limits)?;
        let left = how == How::Left;
        Ok((!left).then(|| -> Fatal { Box::new(move |test| how.verdict(Some(test))) }))
    }

    /// The cause of a child's end: the program, or the machine.
    pub(super) fn how(
        &mut self,
        child: &mut ChildProcess,
        stop: Option<&Stop>,
        limits: Limits,
    ) -> Result<How, String> {
        // What was killed in an attempt that ends by something else is not a later program's.
        if !matches!(stop, Some(Stop::Closed) | None) {
            self.has_killed();
        }
        match stop {
            Some(Stop::Broken(problem)) => return Err(problem.clone()),
            Some(Stop::Timeout) => return Ok(How::Timeout),
            Some(Stop::Output) => return Ok(How::Output),
            Some(Stop::Memory) => return Ok(How::Memory),
            Some(Stop::Threads) => return Ok(How::Threads),
            Some(Stop::Garbled) => return Ok(How::Garbled),
            Some(Stop::Closed) | None => {}
        }
        if !child.was_ready() {
            child.end(stop);
            return Err("a child died before its jail was shut".to_owned());
        }
        let ended = child.end(stop);
        Ok(match ended.signal {
            // The kernel's own CPU limit, if we were late.
            Some(libc::SIGKILL | libc::SIGXCPU) if ended.cpu >= limits.cpu => How::Timeout,
            Some(libc::SIGKILL) if self.has_killed() => How::Memory,
            // Nothing inside the walls can kill like that, or only itself: a second time it has.
            Some(libc::SIGKILL) if !self.second_try => {
                self.used = self.used.and(Budget { cpu: ended.cpu, wall: child.watched() });
                return Err("a child was killed from outside".to_owned());
            }
            Some(signal) => How::Crashed(signal),
            None => How::Left,
        })
    }

    /// Whether the kernel has killed for want of memory since the last time we asked.
    fn has_killed(&mut self) -> bool {
        self.group.as_mut().is_some_and(Cgroup::has_killed)
    }

    pub(super) fn held(&self, cpu: Duration) -> Held {
        Held { cpu_ms: cpu.as_secs_f64() * 1e3, isolation: self.setting.isolation }
    }

    pub(super) fn fork(
        &mut self,
        kind: ChildKind,
        limits: Limits,
        input: Option<&[u8]>,
    ) -> Result<ChildProcess, String> {
        let whole = Budget::for_one(limits);
        let budget = if kind == ChildKind::Program { whole.less(self.used) } else { whole };
        self.fork_within(kind, limits, input, budget)
    }

    /// Starts the zygote that programs are forked from, and makes what it needs.
    fn start_zygote(&mut self) -> Result<(), String> {
        let setting = self.setting.clone();
        if self.scratch.is_none()
            && let Some(path) = setting.scratch(self.id)
        {
            let inside = setting.inside(self.id);
            let made = Scratch::make(&path, setting.user(self.id), &inside)?;
            self.scratch = Some(made);
        }
        let terms = setting.terms(self.id)?;
        let wanted = setting.wanted(self.id, self.kind);
        let zygote = Zygote::start(&setting.command, &wanted, &terms);
        let zygote = zygote.map_err(|error| error.to_string())?;
        if setting.groups && self.group.is_none() {
            self.group = Cgroup::make(self.id.number);
        }
        if let Some(group) = &self.group {
            let added = group.add(zygote.pid());
            added.map_err(|error| format!("cannot use a control group: {error}"))?;
        }
        self.zygote = Some(zygote);
        Ok(())
    }

    /// The limits of a child, as its zygote sets them.
    fn order(&self, kind: ChildKind, limits: Limits) -> Order {
        Order {
            magic: MAGIC,
            kind: 0,
            cpu: limits.cpu.as_secs() + 2,
            data: limits.memory,
            address_space: 2 * limits.memory + (1 << 30),
            // What test code wrote into the folder that it shares with a program, the program would read.
            file: if kind == ChildKind::Checker && self.scratch.is_some() { 0 } else { FILE_MAX },
            stack: 64 << 20,
            threads: if self.setting.counts_threads() { THREADS_MAX } else { 0 },
            scratch: SCRATCH_BYTES,
            core: self.setting.hard_limits.core(),
        }
    }

    fn fork_within(
        &mut self,
        kind: ChildKind,
        limits: Limits,
        input: Option<&[u8]>,
        budget: Budget,
    ) -> Result<ChildProcess, String> {
        if self.zygote.is_none() {
            self.start_zygote()?;
        }
        let order = self.order(kind, limits);
        self.setting.hard_limits.too_low(&order).map_or(Ok(()), Err)?;
        if let Some(group) = &mut self.group {
            let limited = group.limit(limits.memory);
            limited.map_err(|error| format!("cannot bound a control group: {error}"))?;
        }
        let Some(zygote) = &mut self.zygote else { return Err("no zygote".to_owned()) };
        // A file of its own for each child, with nothing in it where there is no input: what is done
        // to an open file, its flags and its times, is visible to the next process that has it.
        let stdin = os::memfd("input", input.unwrap_or_default(), Inherit::No)
            .map_err(|error| format!("cannot keep a test's input in memory: {error}"))?;
        let scratch = self.scratch.as_mut().map(Scratch::take).transpose()?;
        let options = ChildOptions { kind, stdin: stdin.as_fd(), budget, scratch };
        let mut forked = ChildProcess::fork(zygote, &order, options);
        if let (Ok(child), Some(core)) = (&mut forked, &self.core) {
            child.uses(core.clone(), limits.memory);
        }
        if forked.is_err() {
            self.zygote = None;
        }
        forked
    }
}

/// The processes of a test: the program, and the checker once there is one.
struct Sides<'a> {
    child: &'a mut ChildProcess,
    checker: &'a mut Option<ChildProcess>,
    limits: Limits,
}

/// The limits of a request's program.
pub(super) fn limits(request: &JudgeRequest) -> Limits {
    Limits { cpu: Duration::from_millis(request.cpu_ms), memory: request.memory }
}

/// The reason why a child ended before its last answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Timeout,
    Memory,
    Output,
    Crashed(i32),
    /// It left, or shut its channel.
    Left,
    /// It wrote bytes to its channel that are not an answer.
    Garbled,
    /// It had too many threads.
    Threads,
}

impl How {
    /// `None` is while loading.
    pub(super) fn verdict(self, test: Option<u32>) -> Verdict {
        let left = |kind: &str| match test {
            None => Verdict::LoadError { kind: kind.to_owned() },
            Some(test) => Verdict::Raised { test, kind: kind.to_owned() },
        };
        match self {
            Self::Timeout => Verdict::Timeout,
            Self::Memory => Verdict::Memory,
            Self::Output => Verdict::Output,
            Self::Crashed(signal) => Verdict::Crashed { signal },
            Self::Left => left("exit"),
            Self::Garbled => left("garbled answer"),
            Self::Threads => left("too many threads"),
        }
    }
}
