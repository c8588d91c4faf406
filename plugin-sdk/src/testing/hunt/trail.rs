//! Episodes on their way, as light as a search needs them: no advice is asked for.

use std::rc::Rc;

use super::ground::Ground;
use crate::random::fnv;
use crate::testing::environment::EpisodeUnderTest;
use crate::testing::walk::{Deed, Moment, Walk};
use crate::types::{Problem, Status};

/// A moment of a trail: how it was come to, how it looks, what was earned so far.
#[derive(Clone)]
pub struct Trail {
    /// What was done, from the start of the task.
    pub deeds: Vec<Deed>,
    /// The looks of all moments but for counters, the start first.
    pub looks: Vec<u64>,
    /// What each payee of the ground had earned at each moment.
    pub earned: Vec<Vec<f64>>,
    pub status: Status,
    /// Whether the last deed was, or one of its moves.
    pub is_accepted: bool,
    /// Deeds at its beginning that are the expert's.
    pub guided: usize,
    saved: Option<Rc<[u8]>>,
}

impl Trail {
    /// The beginning of a task.
    pub fn start(ground: &Ground<'_>) -> Result<Self, Problem> {
        let mut episode = ground.team().environment.start(ground.task())?;
        let saved = episode.save()?.map(Rc::from);
        let looks = vec![look(ground, &mut *episode)?];
        let earned = vec![vec![0.0; ground.payees.len()]];
        let (deeds, status) = (Vec::new(), Status::Ongoing);
        Ok(Trail { deeds, looks, earned, status, is_accepted: true, guided: 0, saved })
    }

    /// A fork that can be played on.
    pub fn fork<'g>(&self, ground: &'g Ground<'_>) -> Result<Live<'g>, Problem> {
        Ok(Live { episode: self.episode(ground)?, trail: Trail { saved: None, ..self.clone() } })
    }

    /// The episode as it is now: from what was saved or, if nothing was, by doing the same again.
    fn episode<'g>(
        &self,
        ground: &'g Ground<'_>,
    ) -> Result<Box<dyn EpisodeUnderTest + 'g>, Problem> {
        if let Some(saved) = &self.saved {
            return ground.team().environment.resume(saved);
        }
        let mut episode = ground.team().environment.start(ground.task())?;
        ground.quota.use_up(self.deeds.len());
        for deed in &self.deeds {
            deed.carry_out(&mut *episode)?;
        }
        Ok(episode)
    }

    /// What each payee has earned.
    pub fn now(&self) -> &[f64] {
        self.earned.last().map_or(&[], Vec::as_slice)
    }

    /// What all have earned together, the team's part once.
    pub fn sum(&self, ground: &Ground<'_>) -> f64 {
        ground.sum(self.now())
    }

    /// How it looks now.
    pub fn look(&self) -> u64 {
        self.looks.last().copied().unwrap_or_default()
    }

    /// Every moment of the expert's way in which something is left to be done.
    pub fn along(ground: &Ground<'_>, expert: &Walk) -> Result<Vec<Self>, Problem> {
        let mut trails = vec![Trail::start(ground)?];
        for step in &expert.steps {
            let Some(last) = trails.last() else { break };
            let mut live = last.fork(ground)?;
            live.act(ground, &step.deed)?;
            if live.trail.status != Status::Ongoing {
                break;
            }
            live.trail.guided = live.trail.deeds.len();
            trails.push(live.keep()?);
        }
        Ok(trails)
    }
}

/// A trail and the episode at its end.
pub struct Live<'g> {
    pub trail: Trail,
    episode: Box<dyn EpisodeUnderTest + 'g>,
}

impl Live<'_> {
    /// Go one deed further.
    pub fn act(&mut self, ground: &Ground<'_>, deed: &Deed) -> Result<(), Problem> {
        ground.quota.use_up(1);
        let outcome = deed.carry_out(&mut *self.episode)?;
        let trail = &mut self.trail;
        let income = |seat| deed.income(&outcome, seat, &ground.examination.contests);
        let earned = ground.payees.iter().zip(trail.now()).map(|(seat, sum)| sum + income(seat));
        trail.earned.push(earned.collect());
        trail.deeds.push(deed.clone());
        trail.looks.push(look(ground, &mut *self.episode)?);
        trail.status = outcome.status;
        trail.is_accepted = outcome.effects.iter().any(|effect| effect.accepted);
        Ok(())
    }

    /// The trail, which others can go on from.
    pub fn keep(mut self) -> Result<Trail, Problem> {
        if self.trail.status == Status::Ongoing {
            self.trail.saved = self.episode.save()?.map(Rc::from);
        }
        Ok(self.trail)
    }
}

fn look(ground: &Ground<'_>, episode: &mut dyn EpisodeUnderTest) -> Result<u64, Problem> {
    let seen = Moment::seen(ground.team().viewers(), episode)?;
    Ok(fnv(ground.counters.apply(&seen.join("\n")).as_bytes()))
}
