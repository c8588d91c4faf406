//! Challenges for tasks without a record.

use std::collections::{BTreeMap, BTreeSet};

use plugin_sdk::Random;
use plugin_sdk::environment::{Problem, Split, Task};
use troupe_grader::{Rule, Test};

use crate::challenge::{Challenge, Counts};
use crate::recipe::{Kind, Recipe};

/// Recipes to draw before the settings are called impossible.
const ATTEMPTS: usize = 2_000;

/// Draw the challenge of a task. No recipe is in two splits: it belongs to the
/// split that its statement decides.
pub fn draw(
    task: &Task,
    kind: Option<Kind>,
    steps: usize,
    counts: Counts,
) -> Result<Challenge, Problem> {
    recipe(task, kind, steps, counts).map(|(_, challenge)| challenge)
}

/// The same, with the recipe.
pub fn recipe(
    task: &Task,
    kind: Option<Kind>,
    steps: usize,
    counts: Counts,
) -> Result<(Recipe, Challenge), Problem> {
    let mut random = Random::new(task.split, task.seed, "recipe");
    for _ in 0..ATTEMPTS {
        let any = [Kind::Lists, Kind::Words, Kind::Numbers][random.below(3)];
        let recipe = Recipe::draw(kind.unwrap_or(any), steps, &mut random);
        if Split::owning(recipe.statement.as_bytes()) != task.split {
            continue;
        }
        if let Some(tests) = tests(&recipe, counts.shown + counts.generated, &mut random) {
            let challenge = challenge(&recipe, task, tests, counts.shown);
            return Ok((recipe, challenge));
        }
    }
    Err(Problem::settings(format!("{ATTEMPTS} draws gave no problem of the {} split", task.split)))
}

fn challenge(recipe: &Recipe, task: &Task, tests: Vec<Test>, shown: usize) -> Challenge {
    let id = format!("{}-{}", task.split, task.seed);
    let mut problem = troupe_grader::Problem::new(&id, tests);
    problem.compare = Some(Rule::Tokens);
    Challenge {
        statement: recipe.statement.clone(),
        starter: String::new(),
        problem,
        shown,
        solution: Some(recipe.solution.clone()),
        is_asked: false,
    }
}

/// Tests with inputs that differ, such that no single output is right for half:
/// a program that always prints the same must not come far.
fn tests(recipe: &Recipe, count: usize, random: &mut Random) -> Option<Vec<Test>> {
    let mut inputs = BTreeSet::new();
    let mut outputs: BTreeMap<String, usize> = BTreeMap::new();
    let mut tests = Vec::new();
    for _ in 0..4 * count {
        let input = recipe.input(random);
        if tests.len() == count || !inputs.insert(input.clone()) {
            continue;
        }
        let output = recipe.answer(&input);
        tests.push(Test::stdin(&input, &output));
        *outputs.entry(output).or_default() += 1;
    }
    let most = outputs.values().copied().max().unwrap_or(0);
    (tests.len() == count && (count < 3 || 2 * most < count)).then_some(tests)
}
