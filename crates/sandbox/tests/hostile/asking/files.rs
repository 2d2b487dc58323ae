//! The folder that a program shares with test code where it has no file system of its own.

use whetstone_core::judgement::Isolation;

use crate::expected::{at_both_levels, judge};

/// Test code that keeps what it expects in a file.
const KEEPS: &str = "with open('expected', 'w') as file: file.write('7')\n\
                     got = add(3, 4)\nassert got == int(open('expected').read())";

#[test]
fn what_test_code_writes_is_not_read_by_the_program() {
    at_both_levels(|stage| {
        for hostile in [
            "def add(a, b): return int(open('expected').read())\n",
            "def add(a, b):\n    open('expected', 'w').write('1')\n    return 1\n",
        ] {
            let verdict = judge(stage, "", KEEPS, hostile);
            assert_ne!(verdict, Ok("pass".to_owned()), "{:?}: {hostile}", stage.level);
        }
        let honest = judge(stage, "", KEEPS, "def add(a, b): return a + b\n");
        match stage.level {
            Isolation::Full => assert_eq!(honest, Ok("pass".to_owned())),
            // Where they share a folder, test code writes no file, whatever the program is.
            _ => assert!(honest.unwrap_err().contains("Error")),
        }
    });
}

#[test]
fn a_program_that_closes_its_folder_is_judged_all_the_same() {
    at_both_levels(|stage| {
        let test = "got = add(3, 4)\nassert got == 7 or got is None and False";
        for (body, verdict) in [("return a + b", "pass"), ("return -1", "wrong")] {
            let program = format!("import os\nos.chmod('.', 0)\ndef add(a, b): {body}\n");
            assert_eq!(judge(stage, "", test, &program), Ok(verdict.to_owned()), "{program}");
        }
    });
}
