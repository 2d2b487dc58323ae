//! One `CPython` process that says of many programs whether `compile()` takes them.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Reads `length\n` and that many bytes, over and over; answers a line each.
const COMPILE: &str = r#"
import sys
stdin = sys.stdin.buffer
while line := stdin.readline():
    source = stdin.read(int(line)).decode()
    try:
        compile(source, "x", "exec", dont_inherit=True)
        answer = "ok"
    except BaseException as error:
        answer = f"{type(error).__name__}: {error}"
    print(ascii(answer)[1:-1][:200], flush=True)
"#;

/// Reads programs in the same way; answers the length and text of each as `ast` writes it.
const UNPARSE: &str = r#"
import ast, sys
stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
while line := stdin.readline():
    text = ast.unparse(ast.parse(stdin.read(int(line)).decode())).encode()
    stdout.write(b"%d\n%s" % (len(text), text))
    stdout.flush()
"#;

const WHO: &str = "import sys, sysconfig; print(sys.executable); print(sys.version_info[1]); \
                   print(sysconfig.get_path('stdlib'))";

/// The `CPython` of this machine.
#[derive(Debug)]
pub(crate) struct Python {
    /// The interpreter itself, not a script that chooses one.
    pub(crate) executable: String,
    /// The `11` of 3.11.
    pub(crate) minor: u8,
    /// Where its standard library is.
    pub(crate) stdlib: PathBuf,
}

impl Python {
    /// Looks for `python3`; says so if there is none.
    pub(crate) fn find() -> Option<Self> {
        let output = Command::new("python3").args(["-c", WHO]).output();
        let output = match output {
            Ok(output) if output.status.success() => output,
            _ => {
                println!("SKIPPED: there is no python3 to compare with");
                return None;
            }
        };
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<_> = text.lines().collect();
        let [executable, minor, stdlib] = lines[..] else { panic!("{text}") };
        let minor = minor.parse().unwrap();
        Some(Self { executable: executable.to_owned(), minor, stdlib: stdlib.into() })
    }

    /// What `compile()` says of each program: `ok`, or the error.
    pub(crate) fn compile(&self, programs: &[String]) -> Vec<String> {
        let answers = self.ask(COMPILE, programs, |out, answer| {
            out.read_line(answer).unwrap();
            answer.truncate(answer.trim_end().len());
        });
        assert!(answers.iter().all(|answer| !answer.is_empty()), "CPython went away");
        answers
    }

    /// Each program as its tree alone would be written.
    pub(crate) fn unparse(&self, programs: &[String]) -> Vec<String> {
        self.ask(UNPARSE, programs, |out, answer| {
            let mut length = String::new();
            out.read_line(&mut length).unwrap();
            let mut bytes = vec![0; length.trim().parse().unwrap()];
            std::io::Read::read_exact(out, &mut bytes).unwrap();
            answer.push_str(std::str::from_utf8(&bytes).unwrap());
        })
    }

    fn ask(
        &self,
        script: &str,
        programs: &[String],
        read: impl Fn(&mut BufReader<std::process::ChildStdout>, &mut String),
    ) -> Vec<String> {
        let mut child = Command::new(&self.executable)
            .args(["-I", "-W", "ignore", "-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let answers = std::thread::scope(|scope| {
            scope.spawn(move || {
                for program in programs {
                    // A child that went away shows in its missing answers.
                    let _ = write!(stdin, "{}\n{program}", program.len());
                }
            });
            let answer = |_| {
                let mut answer = String::new();
                read(&mut stdout, &mut answer);
                answer
            };
            programs.iter().map(answer).collect()
        });
        child.wait().unwrap();
        answers
    }
}
