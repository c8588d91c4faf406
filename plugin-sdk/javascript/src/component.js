// The glue between an author's class and the contract: what a component exports.

import { configureEnvironment, describeEnvironment, Episode } from './environment.js';
export { imports } from './host.js';
import { served } from './problem.js';
import { configureWorkflow, describeWorkflow, Session } from './workflow.js';

/** The interface `environment` of the contract, of a class. */
export function environmentOf(Class) {
  // The binding keeps a handle in this object; the author's own holds none.
  class EpisodeResource {
    constructor(episode) { this.episode = episode; }

    static start(task) { return served(() => new EpisodeResource(Episode.start(Class, task))); }
    static resume(state) { return served(() => new EpisodeResource(Episode.resume(Class, state))); }
    rules(seat) { return served(() => this.episode.rules(seat)); }
    observe(seat) { return served(() => this.episode.observe(seat)); }
    act(moves) { return served(() => this.episode.act(moves)); }
    demonstrate(seat) { return served(() => this.episode.demonstrate(seat)); }
    reveal() { return served(() => this.episode.reveal()); }
    save() { return served(() => this.episode.save()); }
  }
  return {
    describe: () => describeEnvironment(Class),
    configure: (settings) => served(() => configureEnvironment(Class, settings)),
    Episode: EpisodeResource,
  };
}

/** The interface `rendering`, of an environment's class that has `render`. */
export function renderingOf(Class) {
  return { render: (state) => served(() => Episode.resume(Class, state).environment.render()) };
}

/** The interface `workflow` of the contract, of a class. */
export function workflowOf(Class) {
  class SessionResource {
    constructor(session) { this.session = session; }

    static start(briefing) { return served(() => new SessionResource(Session.start(Class, briefing))); }
    static resume(state) { return served(() => new SessionResource(Session.resume(Class, state))); }
    advance(event) { return served(() => this.session.advance(event)); }
    demonstrate(seat, expert) { return served(() => this.session.demonstrate(seat, expert)); }
    save() { return served(() => this.session.save()); }
  }
  return {
    describe: () => describeWorkflow(Class),
    configure: (settings, actions) => served(() => configureWorkflow(Class, settings, actions)),
    Session: SessionResource,
  };
}
