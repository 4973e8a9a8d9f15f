//! Tests of child processes: they end with their owner, and the owner learns how they ended.

use std::{
    io::Read,
    path::Path,
    process::{Command, Stdio},
};

use braid_devnet::process::Bound;

#[test]
fn dropping_the_owner_ends_the_child() {
    let (mut output, writer) = std::io::pipe().unwrap();
    let child = Bound::start(Path::new("sleep"), ["1000"], writer, Stdio::null()).unwrap();
    drop(child);
    // Reading ends only when the last process that holds the pipe has ended.
    assert_eq!(output.read(&mut [0]).unwrap(), 0);
}

#[test]
fn a_child_that_ignores_the_kind_signal_is_ended_all_the_same() {
    let (mut output, writer) = std::io::pipe().unwrap();
    let script = "trap '' TERM; echo ready; while :; do sleep 0.1; done";
    let child = Bound::start(Path::new("sh"), ["-c", script], writer, Stdio::null()).unwrap();
    output.read_exact(&mut [0; 6]).unwrap();
    drop(child);
    assert_eq!(output.read(&mut [0]).unwrap(), 0);
}

#[test]
fn killing_the_owner_outright_ends_the_child() {
    // The owner is this test binary, started again with arguments that make it hold a child and wait.
    let (mut output, writer) = std::io::pipe().unwrap();
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "process::an_owner_for_the_test_above", "--ignored", "--nocapture"])
        .stdout(Stdio::null())
        .stderr(writer)
        .spawn()
        .unwrap();
    let mut word = [0; 5];
    output.read_exact(&mut word).unwrap();
    assert_eq!(&word, b"child");
    owner.kill().unwrap();
    owner.wait().unwrap();
    let mut rest = Vec::new();
    output.read_to_end(&mut rest).unwrap();
}

#[test]
#[ignore = "not a test: the owner that another test kills"]
fn an_owner_for_the_test_above() {
    let script = "echo child >&2; exec sleep 1000";
    let _child = Bound::start(Path::new("sh"), ["-c", script], Stdio::null(), Stdio::inherit()).unwrap();
    std::thread::park();
}

#[test]
fn a_child_that_ends_by_itself_is_noticed() {
    let (mut output, writer) = std::io::pipe().unwrap();
    let mut child = Bound::start(Path::new("sh"), ["-c", "exit 3"], writer, Stdio::null()).unwrap();
    assert_eq!(output.read(&mut [0]).unwrap(), 0);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::yield_now();
    };
    assert_eq!(status.code(), Some(3));
}
