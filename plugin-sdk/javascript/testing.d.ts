// Types of `troupe-plugin/testing`.

import type { Action, Environment, Grant, Move, Outcome, SeatLike, Seat, Split, Value, Workflow, Request } from './index.js';

export interface Options {
  split?: Split;
  seed?: number;
  settings?: Record<string, Value>;
  seats?: SeatLike[];
  entry?: string | null;
}

export interface TestOutcome extends Pick<Outcome, 'effects' | 'status'> {
  awards: { to: { tag: 'team' | 'mover' | 'seat'; val?: any }; name: string; value: number }[];
}

export interface TestEpisode<E> {
  readonly environment: E;
  rules(seat?: SeatLike): string;
  observe(seat?: SeatLike): string;
  demonstrate(seat?: SeatLike): Action | null;
  act(text: string, options?: { kind?: string; seat?: SeatLike }): TestOutcome;
  move(moves: Move[]): TestOutcome;
  save(): Uint8Array | null;
  copy(): TestEpisode<E>;
}

export function begin<E extends Environment>(Class: new () => E, options?: Options): TestEpisode<E>;
export function check(Class: new () => Environment, options?: { tasks?: number; settings?: Record<string, Value>; seat?: SeatLike }): void;
export function rehearse(
  Class: new () => Workflow,
  Environment: new () => Environment,
  answer?: ((request: Request & { seat: Seat; told: string }) => string) | null,
  options?: { settings?: Record<string, Value>; environment?: Options },
): { seat: Seat; told: string; text: string }[];
export function grant(name: Grant | 'log', standIn: object | null): void;
