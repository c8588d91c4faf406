// Proposals: plans that are scored without being carried out.

/**
 * What each seat's last proposal was worth, and has been paid for. What a
 * seat's proposals earn adds up to the worth of its last one.
 */
export class Proposals {
  worths = {};

  /** What the seat is paid for a proposal of this worth. */
  pay(seat, worth) {
    const key = `${seat.role} ${seat.instance}`;
    const before = this.worths[key] ?? 0;
    this.worths[key] = worth;
    return worth - before;
  }
}
