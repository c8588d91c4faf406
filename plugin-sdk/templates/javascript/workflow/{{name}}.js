// A proposer says what it would do, and why; a player sees that and acts.

import { seenBy, Step, Workflow } from 'troupe-plugin';

const WORDS = 20;

export default class {{Name}} extends Workflow {
  static description = {
    name: '{{name}}',
    version: '0.1.0',
    summary: 'One role proposes, the other acts.',
    roles: {
      proposer: {
        summary: 'Proposes what to do.',
        task: 'You advise the player. Say what you would do.',
        message: 'proposer {observation}',
      },
      player: {
        summary: 'Sees the proposal and acts.',
        task: 'A proposal stands after the word `proposal`.',
        message: 'player {observation} proposal {proposal}',
        acts: true,
      },
    },
  };

  // Fields are the state: they are saved and restored by themselves.
  begun(views) {
    return this.turn(views);
  }

  replied({ seat, said }) {
    if (seat.role === 'player') return this.act(seat, said);
    const proposal = said.split(/\s+/).slice(0, WORDS).join(' ');
    return this.ask('player', { observation: this.seen, proposal });
  }

  acted({ status, views }) {
    return status === 'ongoing' ? this.turn(views) : Step.finish();
  }

  turn(views) {
    // Both see the same unless the environment is a private one.
    this.seen = seenBy(views, 'player');
    return this.ask('proposer', { observation: seenBy(views, 'proposer') });
  }
}
