//! Thinking before an answer, and its budget.

use crate::prompt::ThoughtMarks;

/// What of an answer is thought: the tokens between `<think>` and `</think>`, so far.
#[derive(Clone, Debug)]
pub(super) struct Thought {
    marks: ThoughtMarks,
    /// Tokens of thinking after which it is ended.
    budget: usize,
    spent: usize,
    is_open: bool,
}

impl Thought {
    /// Before the first token of an answer to `prompt`, which may have begun a thought.
    pub(super) fn after(prompt: &[u32], ends: &[u32], marks: ThoughtMarks, budget: usize) -> Self {
        let is_open = marks.is_open_after(prompt, ends) == Some(true);
        Thought { marks, budget, spent: 0, is_open }
    }

    /// The token that must come next: the thought's end, where the budget is spent.
    pub(super) fn due(&self) -> Option<u32> {
        (self.is_open && self.spent >= self.budget).then_some(self.marks.end)
    }

    /// Take the next token.
    pub(super) fn push(&mut self, token: u32) {
        if self.marks.is_mark(token) {
            self.is_open = token != self.marks.end;
        } else if self.is_open {
            self.spent += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKS: ThoughtMarks = ThoughtMarks { begin: Some(1), end: 2 };

    fn due_after(prompt: &[u32], budget: usize, tokens: &[u32]) -> Option<u32> {
        let mut thought = Thought::after(prompt, &[3], MARKS, budget);
        tokens.iter().for_each(|&token| thought.push(token));
        thought.due()
    }

    #[test]
    fn a_thought_ends_when_its_budget_is_spent_wherever_it_began() {
        assert_eq!(due_after(&[9], 2, &[1, 7]), None);
        assert_eq!(due_after(&[9], 2, &[1, 7, 7]), Some(2));
        assert_eq!(due_after(&[9, 1, 9], 2, &[7, 7]), Some(2));
        assert_eq!(due_after(&[1, 2, 9], 2, &[7, 7, 7]), None);
        assert_eq!(due_after(&[1, 3, 9], 2, &[7, 7, 7]), None, "somebody else said the mark");
    }

    #[test]
    fn what_is_said_after_a_thought_costs_nothing_and_thoughts_share_their_budget() {
        assert_eq!(due_after(&[1], 3, &[7, 2, 8, 8, 8, 8]), None);
        assert_eq!(due_after(&[1], 3, &[7, 2, 8, 1, 7]), None);
        assert_eq!(due_after(&[1], 3, &[7, 2, 8, 1, 7, 7]), Some(2));
    }
}
