//! An episode can be played again from its record.

use troupe_core::config::Config;
use troupe_core::seed::Seed;
use troupe_core::trajectory::Event;
use troupe_guests::plugin::{Move, Seat, Split, Task, text_of};
use troupe_model::Device;
use troupe_training::rollout::{Setting, collect};
use troupe_training::team::Team;

use crate::script::training_tasks;
use crate::support::plugin;

#[test]
fn replaying_a_recorded_episodes_actions_in_a_fresh_instance_gives_the_same_bytes() {
    for files in [["plan-path", "planner-executor"], ["sudoku", "filler-checker"]] {
        let mut config = Config::default();
        config.plugins.files = files.iter().map(|name| plugin(name)).collect();
        config.rollout.max_turns = 4;
        let team = Team::assemble(&config, Device::cpu()).unwrap();
        let tasks = training_tasks(&team, 16, Seed::new(3));
        let scenario = &team.families[0].scenario;
        let rollout =
            collect(&Setting::of(&team.role_map, &config), &team.policies, &tasks).unwrap();
        for episode in &rollout.episodes {
            let settings = scenario.environment_settings.configured().to_vec();
            let (split, seed, seats) = (Split::Train, episode.seed, Vec::new());
            let task = Task { split, seed, settings, seats, entry: None };
            let mut live = scenario.environment.start(&task).unwrap();
            let mut acted = 0;
            for event in &episode.events {
                match event {
                    Event::Observed { text } => {
                        let parts = live.observe(&Seat::new("anybody")).unwrap();
                        assert_eq!(text_of(&parts), *text);
                    }
                    Event::Acted { action, accepted, feedback, status, .. } => {
                        let one = Move::new(action.role.as_str(), &action.kind, &action.text);
                        let outcome = live.act(vec![one]).unwrap();
                        let status = format!("Status::{status:?}");
                        assert_eq!(
                            (
                                outcome.is_accepted(),
                                outcome.told(),
                                format!("{:?}", outcome.status)
                            ),
                            (*accepted, feedback.as_str(), status)
                        );
                        acted += 1;
                    }
                    Event::Replied { .. }
                    | Event::Called { .. }
                    | Event::Credited { .. }
                    | Event::Logged { .. } => {}
                }
            }
            assert!(acted > 0, "{files:?}: the episode has actions");
        }
    }
}
