import type { SessionStart } from '../contract/index.ts';
import type { Draw, SpanAttributes } from '../spans/span-definition.ts';
import type { Session, Turn } from './turn.ts';
/** What every span of a turn carries, not only the root: backends group and filter by it. */
export declare function turnIdentity(draw: Draw, session: Session, turnId: string | undefined): SpanAttributes;
/** A record of a session that the turn's own has rotated into: its span says the new id. */
export declare function rotatedIdentity(draw: Draw, turn: Turn, sessionId: string | undefined): SpanAttributes | undefined;
/** Said once at a session's or a turn's start and true from then on: the sender, the correlation id. */
export declare function rememberedAttributes(payload: SessionStart, draw: Draw): SpanAttributes;
