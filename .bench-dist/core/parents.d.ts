import type { Context } from '@opentelemetry/api';
import type { Identity } from '../contract/index.ts';
import type { AnyDefinition } from '../spans/index.ts';
import { type Turn } from './turn.ts';
/**
 * The parent of a new span: by id where one names it, else the innermost open span of an allowed kind, always in the own
 * turn. No ambient context is asked: what is "active" may belong to anybody.
 */
export declare function parentOf(turn: Turn, definition: AnyDefinition, payload: Identity, delegatingTools: ReadonlySet<string>): Context;
