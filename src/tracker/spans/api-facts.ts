import { literal, type SafeText } from '../../content/capture.ts'
import { positive, textOf } from '../../contract/foreign.ts'
import type { ApiEnd, ApiError } from '../../contract/index.ts'
import { errorFacts, OTHER_ERROR } from './error-facts.ts'
import type { AttributeOptions, OpenedSpan } from './span-definition.ts'

/** Epoch seconds of the host → milliseconds. */
export function millis(seconds: unknown): number | undefined {
  const value = positive(seconds)
  return value === undefined ? undefined : value * 1000
}

/** Seconds from this attempt's own start to its first chunk. A negative value belongs to another attempt and is dropped. */
export function timeToFirstChunk(payload: ApiEnd, opened: OpenedSpan<unknown>): number | undefined {
  const firstChunkAt = millis(payload.first_chunk_at)
  if (firstChunkAt === undefined || opened.start === undefined || firstChunkAt < opened.startAt) return undefined
  return (firstChunkAt - opened.startAt) / 1000
}

export function apiErrorType(payload: ApiError, options: AttributeOptions): SafeText {
  const { id } = options.capture
  return id(errorFacts(payload.error).type) ?? id(textOf(payload.reason)) ?? literal(OTHER_ERROR)
}
