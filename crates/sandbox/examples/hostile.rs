//! scratch
use std::time::Instant;
use whetstone_sandbox::{Judge, Options, job::{Job, Judging, Limits}};
use whetstone_core::{program::*, tests::*, judgement::Isolation};
fn main() {
    let exe = std::env::current_exe().unwrap();
    let judge_bin = exe.parent().unwrap().parent().unwrap().join("whet-judge");
    let mut options = Options::new(vec![judge_bin.to_str().unwrap().to_owned()]);
    if let Ok(level) = std::env::var("CEIL") { options.ceiling = match level.as_str() { "landlock" => Isolation::Landlock, "rlimit" => { options.minimum = Isolation::Rlimit; Isolation::Rlimit }, _ => Isolation::Full }; }
    if let Ok(p) = std::env::var("PY") { options.python = p; }
    let judge = Judge::start(&options).unwrap();
    println!("{:?}", judge.about());
    let dir = std::env::args().nth(1).unwrap();
    let only = std::env::args().nth(2);
    let mut names: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|x| x == "py")).collect();
    names.sort();
    if let Some(only) = only { names.retain(|n| n.to_str().unwrap().contains(&only)); }
    let asserts = |v: &[&str]| Tests::Asserts(Suite::new(vec![], v.iter().map(|s| (*s).to_owned()).collect()).unwrap());
    let call = asserts(&["assert add(2, 3) == 5", "assert add(-1, 1) == 0", "assert add(10, 20) == 30"]);
    let io = |i: &str, o: &str| Io { input: i.to_owned(), output: o.to_owned(), alternatives: vec![] };
    let stdio = Tests::Stdio(Suite::new(vec![], vec![io("2 3\n", "5\n"), io("-1 1\n", "0\n"), io("10 20\n", "30\n")]).unwrap());
    let limits = Limits { cpu: std::time::Duration::from_secs(2), ..Limits::default() };
    let mut bad = 0;
    for path in names {
        let source = std::fs::read_to_string(&path).unwrap();
        let first = source.lines().next().unwrap();
        let expect = first.contains("EXPECT=PASS");
        let tests = if first.contains("kind=stdio") { &stdio } else { &call };
        let program = Program { language: Language::Python, source: source.clone(), truncated: false };
        let t = Instant::now();
        let got = judge.judge(Job { program: &program, setup: "", tests, limits });
        let ok = got.as_ref().is_ok_and(|j| j.verdict().is_pass() == expect);
        if !ok { bad += 1; }
        println!("{} {} {:?} {:.1?}", if ok { "ok " } else { "BAD" }, path.file_name().unwrap().to_str().unwrap(), got.map(|j| (j.verdict().clone(), j.cpu_ms())), t.elapsed());
    }
    println!("bad {bad}");
    // speed
    let program = Program { language: Language::Python, source: "import re\ndef add(a, b):\n    return a + b\n".to_owned(), truncated: false };
    let n = 2000;
    let t = Instant::now();
    std::thread::scope(|s| { for _ in 0..4 { s.spawn(|| for _ in 0..n / 4 { judge.judge(Job { program: &program, setup: "", tests: &call, limits }).unwrap(); }); } });
    println!("{:.0} programs/s", n as f64 / t.elapsed().as_secs_f64());
    let program = Program { language: Language::Python, source: "a,b=map(int,input().split())\nprint(a+b)\n".to_owned(), truncated: false };
    let t = Instant::now();
    let n = 600;
    std::thread::scope(|s| { for _ in 0..4 { s.spawn(|| for _ in 0..n / 4 { judge.judge(Job { program: &program, setup: "", tests: &stdio, limits }).unwrap(); }); } });
    println!("{:.0} stdio tests/s", 3.0 * n as f64 / t.elapsed().as_secs_f64());
    drop(judge);
}
