//! Every rule of a card, broken on purpose.

use std::process::Command;

use pretend_cuda::{Card, breaks};

/// What comes of breaking a rule.
fn broken(rule: &str) -> String {
    Card::insert();
    breaks(rule)
}

/// The rule was broken, and the card said so in these words.
fn refused(rule: &str, words: &str) {
    let said = broken(rule);
    assert!(said.contains(words), "{rule}: {said}");
}

#[test]
fn operands_lie_on_one_device() {
    refused("operands on two devices", "Expected all tensors to be on the same device");
    refused("operands on two cards", "Expected all tensors to be on the same device");
    refused("a card that is not there", "invalid device ordinal");
}

#[test]
fn nobody_may_rely_on_zeros() {
    let read = broken("memory that nobody has written");
    assert!(read.contains("nan"), "{read}");
}

#[test]
fn memory_that_was_freed_is_poisoned() {
    let read = broken("a graph reads what was freed");
    assert!(read.contains("nan"), "{read}");
}

/// Run by the next test in a process of its own, which ends there.
#[test]
#[ignore = "ends its process"]
fn reads_an_address() {
    broken("the host reads an address");
}

#[test]
fn the_host_that_reads_an_address_ends_with_a_message() {
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "reads_an_address"])
        .output()
        .unwrap();
    assert!(!ended.status.success());
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(said.contains("the host touched a card's memory by its address"), "{said}");
}

#[test]
fn recording_does_nothing_and_a_replay_does_it() {
    assert_eq!(broken("a recorded kernel takes effect"), "1.000000, then 2.000000");
    assert_eq!(broken("a replay of a number of the host's"), "1.000000");
}

#[test]
fn while_a_graph_is_recorded_the_host_may_not_wait_for_the_card() {
    for rule in [
        "the host reads while recording",
        "the host counts while recording",
        "a copy from the host while recording",
        "the host waits while recording",
        "a replay while recording",
    ] {
        refused(rule, "operation not permitted when stream is capturing");
    }
    refused("a recording on the default stream", "non-default stream");
}

#[test]
fn what_no_event_orders_is_refused() {
    refused("another stream reads without an event", "reads what is written on another stream");
    refused("another stream writes without an event", "writes what is written on another stream");
    refused("a replay without an event", "on another stream, and no event orders them");
    assert_eq!(broken("another stream with an event"), "2.000000");
}

#[test]
fn copies_of_pinned_memory_are_done_when_somebody_waits() {
    assert_eq!(broken("pinned memory changes before its copy"), "5.000000");
    assert_eq!(broken("pinned memory is read before its copy"), "-nan, then 3.000000");
}

#[test]
fn fused_kernels_have_their_demands() {
    refused("heads of 12", "head size is not correctly aligned");
    refused("biases of 9 keys", "attn_bias is not correctly aligned");
}

#[test]
fn what_a_card_has_no_kernel_for_is_refused() {
    refused("a product of whole numbers", "not implemented for 'Long'");
    refused("a kernel of the CPU's", "with arguments from the 'CUDA' backend");
}

#[test]
fn a_card_draws_other_numbers_than_the_cpu() {
    assert_eq!(broken("the CPU's random numbers"), "others");
}

#[test]
fn more_memory_than_there_is_is_an_error_of_libtorchs() {
    refused("more memory than there is", "CUDA out of memory. Tried to allocate 4096.00 GiB");
}
