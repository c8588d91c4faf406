// What a session answers to an event.

import { seatOf } from './parts.js';

export class Step {
  constructor(directive) {
    this.credits = [];
    this.directive = directive;
  }

  /** Ask these seats: what `Workflow.request` makes, or a request of your own. */
  static ask(...requests) {
    const message = ({ author, parts }) => ({ author, parts });
    const request = (r) => ({
      seat: seatOf(r.seat),
      messages: r.messages.map(message),
      tools: r.tools ?? [],
      thread: r.thread ?? '',
      caller: r.caller ?? null,
      isOpen: r.isOpen ?? false,
      situation: r.situation ?? null,
    });
    return new Step({ tag: 'ask', val: requests.map(request) });
  }

  /** Let a seat carry out an action. */
  static act(seat, kind, text) {
    return Step.actTogether([{ seat: seatOf(seat), action: { kind, text } }]);
  }

  /** Let several seats act at the same time. */
  static actTogether(moves) {
    return new Step({ tag: 'act', val: moves });
  }

  /** Have a tool called for the seat, with an object of arguments. */
  static call(seat, tool, args) {
    return new Step({ tag: 'call', val: [{ seat: seatOf(seat), tool, arguments: JSON.stringify(args) }] });
  }

  /** Nothing until the next of the answers that are still due. */
  static wait() {
    return new Step({ tag: 'wait' });
  }

  /** The session is over. */
  static finish() {
    return new Step({ tag: 'finish' });
  }

  /** And the answer with this number was worth this much. */
  credit(answer, name, value, isLast = true) {
    this.credits.push({ answer, name, value, isLast });
    return this;
  }
}
