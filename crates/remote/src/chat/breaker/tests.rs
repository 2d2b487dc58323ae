//! Failures in a row, pauses, probes, and threads that wait.

use std::sync::atomic::Ordering;
use std::thread;

use super::*;

fn breaker(most_failures: u32, probes: u32) -> Breaker {
    let settings = Settings {
        breaker_failures: most_failures,
        breaker_pause: Duration::ZERO,
        breaker_probes: probes,
        ..Settings::default()
    };
    Breaker::new("http://x".to_owned(), &settings)
}

fn failure(message: &str) -> Failure {
    Failure {
        kind: FailureKind::Connection,
        status: None,
        message: message.to_owned(),
        retry_after: None,
    }
}

fn fail(breaker: &Breaker, times: usize) {
    for _ in 0..times {
        breaker.enter().unwrap().failed(&failure("refused"));
    }
}

/// Waits until `threads` threads are waiting: they do nothing else under the lock.
fn wait_for(breaker: &Breaker, threads: u32) {
    let waiting = || {
        let _state = breaker.lock();
        breaker.waiting.load(Ordering::SeqCst)
    };
    while waiting() < threads {
        thread::yield_now();
    }
}

#[test]
fn a_success_in_between_starts_the_count_anew() {
    let breaker = breaker(3, 1);
    fail(&breaker, 2);
    breaker.enter().unwrap().succeeded();
    fail(&breaker, 2);
    assert!(!breaker.enter().unwrap().is_probe);
}

#[test]
fn after_a_row_of_failures_one_probe_goes_and_its_success_opens_the_way() {
    let breaker = breaker(3, 1);
    fail(&breaker, 3);
    let probe = breaker.enter().unwrap();
    assert!(probe.is_probe);
    probe.succeeded();
    fail(&breaker, 2);
    assert!(!breaker.enter().unwrap().is_probe);
}

#[test]
fn while_a_probe_is_out_the_others_wait_for_what_comes_of_it() {
    let breaker = breaker(1, 1);
    fail(&breaker, 1);
    let probe = breaker.enter().unwrap();
    thread::scope(|scope| {
        let others: Vec<_> = (0..4).map(|_| scope.spawn(|| breaker.enter())).collect();
        wait_for(&breaker, 4);
        probe.succeeded();
        for other in others {
            assert!(!other.join().unwrap().unwrap().is_probe);
        }
    });
}

#[test]
fn when_the_last_probe_fails_everyone_hears_the_same() {
    let breaker = breaker(2, 2);
    fail(&breaker, 2);
    fail(&breaker, 1);
    let late = Pass { breaker: &breaker, is_probe: false };
    breaker.enter().unwrap().failed(&failure("still refused"));
    late.failed(&failure("late"));
    let expected = "no completion from the server at `http://x`: 4 requests in a row failed; the \
                    last error: still refused";
    assert_eq!(breaker.enter().unwrap_err().to_string(), expected);
    assert_eq!(breaker.sleep(Duration::from_hours(1)).unwrap_err().to_string(), expected);
}

#[test]
fn a_server_that_limits_requests_is_asked_for_longer() {
    let settings = Settings {
        breaker_failures: 1,
        breaker_pause: Duration::ZERO,
        breaker_probes: 1,
        limited_probes: 3,
        ..Settings::default()
    };
    let limited = Failure { kind: FailureKind::RateLimited, ..failure("429") };
    let breaker = Breaker::new("http://x".to_owned(), &settings);
    for _ in 0..3 {
        breaker.enter().unwrap().failed(&limited);
    }
    assert!(breaker.enter().is_ok(), "it was asked once, and twice after a pause");
    breaker.enter().unwrap().failed(&limited);
    assert!(matches!(breaker.enter(), Err(ChatError::Gone { failures: 4, .. })));

    let breaker = Breaker::new("http://x".to_owned(), &settings);
    breaker.enter().unwrap().failed(&limited);
    for _ in 0..2 {
        breaker.enter().unwrap().failed(&failure("refused"));
    }
    assert!(breaker.enter().is_err(), "one that is gone is not");
}

#[test]
fn a_late_failure_of_an_ordinary_request_is_not_the_probes() {
    let breaker = breaker(1, 1);
    let late = breaker.enter().unwrap();
    fail(&breaker, 1);
    let probe = breaker.enter().unwrap();
    late.failed(&failure("late"));
    probe.succeeded();
    assert!(!breaker.enter().unwrap().is_probe);
}

#[test]
fn a_late_success_opens_the_way_too() {
    let breaker = breaker(1, 1);
    let late = breaker.enter().unwrap();
    fail(&breaker, 1);
    late.succeeded();
    assert!(!breaker.enter().unwrap().is_probe);
}

#[test]
fn a_pause_of_all_is_known_until_it_is_over_and_so_is_their_end() {
    let settings = Settings {
        breaker_failures: 1,
        breaker_pause: Duration::from_mins(5),
        breaker_probes: 1,
        ..Settings::default()
    };
    let breaker = Breaker::new("http://x".to_owned(), &settings);
    assert_eq!(breaker.open_for().unwrap(), Duration::ZERO);
    fail(&breaker, 1);
    let left = breaker.open_for().unwrap();
    assert!(left > Duration::from_mins(4) && left <= Duration::from_mins(5), "{left:?}");
    breaker.stop();
    assert!(matches!(breaker.open_for(), Err(ChatError::Stopped)));
}

#[test]
fn a_probe_that_is_given_up_lets_another_go() {
    let breaker = breaker(1, 1);
    fail(&breaker, 1);
    drop(breaker.enter().unwrap());
    assert!(breaker.enter().unwrap().is_probe);
}

#[test]
fn the_pause_is_what_the_server_asks_for_if_that_is_longer() {
    let breaker = breaker(1, 1);
    let asked = Failure { retry_after: Some(Duration::from_secs(9)), ..failure("429") };
    assert_eq!(breaker.pause_after(&asked), Duration::from_secs(9));
    let forever = Failure { retry_after: Some(Duration::MAX), ..failure("429") };
    assert_eq!(breaker.pause_after(&forever), Settings::default().retry_after_limit);
}

#[test]
fn stopping_wakes_those_who_sleep_and_those_who_wait() {
    let breaker = breaker(1, 1);
    fail(&breaker, 1);
    let probe = breaker.enter().unwrap();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| breaker.enter().map(drop));
        let sleeping = scope.spawn(|| breaker.sleep(Duration::from_hours(1)));
        wait_for(&breaker, 2);
        breaker.stop();
        assert!(matches!(waiting.join().unwrap(), Err(ChatError::Stopped)));
        assert!(matches!(sleeping.join().unwrap(), Err(ChatError::Stopped)));
    });
    probe.succeeded();
    assert!(matches!(breaker.enter(), Err(ChatError::Stopped)));
}
