/**
 * The trace log: a file-backed queue of spans. Spans are safe in it as soon as they have ended, and each backend reads from
 * it what it could not accept at once. Other modules import only this file.
 */

export { type BacklogEntry, listOpenSegments, pendingDestinations, readBacklog } from './backlog.ts'
export { keptDirectory, listCheckpoints } from './checkpoint-file.ts'
export { Continuation, endedSince } from './continuation.ts'
export { Cursor, type ReadErrorListener } from './cursor.ts'
export { stringJson } from './json-bytes.ts'
export { acquireLock, isOnThisHost, type Lock, lockHolder } from './lock.ts'
export { type Loss, LossLog, readLosses } from './losses.ts'
export { isAlive, type Owner, ownerToken, parseOwner, thisOwner } from './owner.ts'
export { api, resources } from './packages.ts'
export type { RecoveredTrace, RecoveryQueue } from './recovery.ts'
export type { Resend, ResendOutcome, ResendRequest } from './resend.ts'
export { fileFailure, SegmentFile } from './segment-file.ts'
export type { LogSegment } from './segments.ts'
export { type Batch, type BatchReceiver, isInLog } from './segments.ts'
export { type BatchSettings, type LocalLogSettings, NOT_KEPT, type Reporter, UNSERIALISABLE } from './settings.ts'
export { attributesJson, estimatedBytes } from './span-json.ts'
export { jsonRequest, SpanLine, sizeOf, spansOf } from './span-line.ts'
export { Store } from './store.ts'
export { hasKeptLog, readUndecided, type UndecidedEntry } from './undecided-spans.ts'
