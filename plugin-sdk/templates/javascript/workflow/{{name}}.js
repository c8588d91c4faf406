// {{Name}}: a proposer says what to do, a player sees that and acts.

import { seenBy, Step, Workflow } from 'troupe-plugin';

export default class {{Name}} extends Workflow {
  static description = {
    name: '{{name}}',
    version: '0.1.0',
    summary: 'A proposer and a player.',
    reusable: true, // nothing is kept outside of the fields
    roles: {
      proposer: {
        summary: 'Proposes what to do.',
        task: 'Propose what the player should do.',
        message: 'proposer {observation}',
        acts: true,
      },
      player: {
        summary: 'Sees the proposal and acts.',
        task: 'Act. A proposal stands after the word `proposal`; '
          + 'follow it unless it is wrong.',
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
    const proposal = said.split('\n').at(-1).trim();
    return this.ask('player', { observation: this.seen, proposal });
  }

  acted({ status, views }) {
    return status === 'ongoing' ? this.turn(views) : Step.finish();
  }

  turn(views) {
    this.seen = seenBy(views, 'player');
    const observation = seenBy(views, 'proposer');
    // What a proposal is worth shows only once the player has acted.
    return Step.ask(this.request('proposer', { observation }, { isOpen: true }));
  }
}
