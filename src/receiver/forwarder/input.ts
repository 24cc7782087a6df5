import type { Readable } from 'node:stream'

/** The receiver's limit. */
const MAX_BYTES = 64 * 1024 * 1024
/** An agent may keep the pipe open. After this silence, its input counts as complete. */
const QUIET_MILLIS = 1000

/**
 * Reads the whole input. Undefined if it is too large. It is still read to its end: if the pipe breaks, the agent reports a
 * failed hook.
 */
export function readInput(input: Readable, quietMillis: number = QUIET_MILLIS): Promise<Buffer | undefined> {
  return new Promise(resolve => {
    const chunks: Buffer[] = []
    let size = 0
    const finish = (): void => {
      clearTimeout(timer)
      resolve(size > MAX_BYTES ? undefined : Buffer.concat(chunks))
    }
    const timer = setTimeout(finish, quietMillis)
    input.on('data', (chunk: Buffer) => {
      timer.refresh()
      size += chunk.length
      if (size <= MAX_BYTES) chunks.push(chunk)
      else chunks.length = 0
    })
    input.on('end', finish).on('error', finish)
  })
}
