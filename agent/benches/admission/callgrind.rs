//! Counts of instructions by valgrind's tool callgrind.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Instructions of one run of this program.
pub struct Counts {
    /// Output of the program.
    pub output: String,
    /// Instructions of the function that was counted, and of what it called, in its thread.
    pub all: u64,
    /// Names of the functions that it called, with the instructions of their calls.
    calls: BTreeMap<String, u64>,
}

impl Counts {
    /// Runs this program under callgrind with these arguments. Counts only while `function` runs.
    pub fn of_function(function: &str, args: &[&str], dir: &Path) -> Self {
        let file = dir.join("callgrind.out");
        let me = std::env::current_exe().expect("the path of this benchmark");
        let output = Command::new("valgrind")
            .args(["--tool=callgrind", "--quiet"])
            .arg(format!("--toggle-collect=*{function}*"))
            .arg(format!("--callgrind-out-file={}", file.display()))
            .arg(me)
            .args(args)
            .output()
            .expect("valgrind is installed");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let profile = std::fs::read_to_string(&file).expect("a profile");
        let output = String::from_utf8(output.stdout).expect("text");
        let mut counts = Self { output, all: 0, calls: BTreeMap::new() };
        counts.read(&profile);
        counts
    }

    /// Returns the instructions of all calls of `function`.
    pub fn calls_of(&self, function: &str) -> u64 {
        let of_it = self.calls.iter().filter(|(name, _)| name.contains(function));
        of_it.map(|(_, count)| count).sum()
    }

    /// Reads a profile: `cfn=(number) name` is the callee of the next call, and the line after
    /// `calls=` has its position and its instructions. A name appears only with the first use of its
    /// number.
    fn read(&mut self, profile: &str) {
        let mut names = BTreeMap::new();
        let mut callee = "";
        let mut is_call = false;
        for line in profile.lines() {
            if let Some(name) = line.strip_prefix("fn=").or_else(|| line.strip_prefix("cfn=")) {
                let (number, name) = name.split_once(' ').unwrap_or((name, ""));
                if !name.is_empty() {
                    names.insert(number, name);
                }
                if line.starts_with('c') {
                    callee = names.get(number).copied().unwrap_or_default();
                }
            } else if let Some(totals) = line.strip_prefix("totals: ") {
                self.all = totals.parse().expect("a number");
            } else if is_call {
                let count = line.split(' ').nth(1).and_then(|count| count.parse::<u64>().ok());
                *self.calls.entry(callee.to_owned()).or_default() += count.expect("a number");
            }
            is_call = line.starts_with("calls=");
        }
    }
}
