/**
 * The trace log: the file where spans are safe as soon as they have ended, and from where each backend gets what it could not take
 * at once. This is its front: whoever uses it imports nothing else of it.
 */

/** What is in it, for who looks: what is still to be delivered, and what never will be. */
export { type BacklogEntry, destinationsOwed, readBacklog } from './backlog.ts'
/** Spans on their way, and where in the log they end. */
export { type Batch, type BatchTaker, isInLog } from './batch.ts'
/** Who holds which segment. */
export { keptDirectory, listCheckpoints } from './checkpoint-file.ts'
/** A process that goes on with what one before it has left open. */
export { Continuation, endedSince } from './continuation.ts'
/** What a process that was killed had left open. */
export type { CrashedTrace } from './crashed-spans.ts'
/** For a backend: reads on where it has got to. */
export { Cursor, type ReadTrouble } from './cursor.ts'
/** Text that is JSON, as it stands in the log. */
export { stringJson } from './json-bytes.ts'
/** Which process holds something, and whether it lives. */
export { isHere, type Lock, lockHolder, takeLock } from './lock.ts'
export { type Loss, LossLog, readLosses } from './losses.ts'
/** Where spans are open, and whether the process that has them lives. */
export { listOpenSegments } from './open-segments.ts'
/** Which process this is. */
export { isAlive, type Owner, ownerToken, parseOwner, thisOwner } from './owner.ts'
/** Loaded when they are needed. */
export { api, resources } from './packages.ts'
/** Takes over, for a backend, what processes that have died left. */
export type { Adopter } from './recovery.ts'
/** Sends backends again what they ask for. */
export type { Resend, ResendOutcome, ResendRequest } from './resend.ts'
export type { Segment } from './segment.ts'
/** A private file of whole lines. */
export { fileFailure, SegmentFile } from './segment-file.ts'
export { type BatchSettings, type LocalLogSettings, NOT_KEPT, type Report, UNSERIALISABLE } from './settings.ts'
/** The spans of one line, as JSON and as protobuf. */
export { attributesJson, estimatedBytes } from './span-json.ts'
export { jsonRequest, SpanLine, sizeOf, spansOf } from './span-line.ts'
/** The trace log of this process. */
export { Store } from './store.ts'
/** What killed processes had held, and nobody has judged since. */
export { hasKeptLog, readUnjudged, type UnjudgedEntry } from './unjudged.ts'
