//! `lines`: our own rule, strict except for what is invisible.

/// The same lines, white space at a line's end and empty lines at the end
/// aside. On bytes: only ASCII white space is white space.
pub(super) fn matches(expected: &[u8], actual: &[u8]) -> bool {
    trimmed(expected) == trimmed(actual)
}

fn trimmed(text: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> =
        text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end).collect();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    lines
}
