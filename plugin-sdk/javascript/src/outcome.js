// What moves led to.

import { seatOf } from './parts.js';

/**
 * Awards are summed without discount, so shaping must be a difference of
 * potentials: no sequence of moves that returns to a state may earn.
 */
export class Outcome {
  constructor(effects) {
    this.effects = effects;
    this.awards = [];
    this.status = 'ongoing';
  }

  /** The action was understood and carried out in full. */
  static accepted(feedback = '') {
    return new Outcome([{ accepted: true, feedback }]);
  }

  /** The action was not understood, or not carried out in full. */
  static rejected(feedback) {
    return new Outcome([{ accepted: false, feedback }]);
  }

  /** Reward everybody, under this name. A reward of 0 leaves no trace. */
  team(name, value) {
    return this.award({ tag: 'team' }, name, value);
  }

  /** Reward the acting seat alone. */
  local(name, value) {
    return this.award({ tag: 'mover', val: 0 }, name, value);
  }

  /** Reward one seat, whether it acted or not. */
  seat(seat, name, value) {
    return this.award({ tag: 'seat', val: seatOf(seat) }, name, value);
  }

  award(to, name, value) {
    if (value !== 0) this.awards.push({ to, name, value });
    return this;
  }

  /** The task is solved. */
  solved() {
    this.status = 'solved';
    return this;
  }

  /** The task can no longer be solved. */
  failed() {
    this.status = 'failed';
    return this;
  }

  /** What the acting seat is told. */
  get feedback() {
    return this.effects[0]?.feedback ?? '';
  }

  /** Adds the outcome of one more move, which has this place among all. */
  append(other, place) {
    const placed = ({ to, ...rest }) => ({ to: to.tag === 'mover' ? { ...to, val: place } : to, ...rest });
    this.effects.push(...other.effects);
    this.awards.push(...other.awards.map(placed));
    this.status = other.status;
  }
}
