import type { Readable } from 'node:stream'

/** As much as the receiver takes. */
const MOST_BYTES = 64 * 1024 * 1024
/** An agent that keeps the pipe open must not wait for us: it has said all by then. */
const QUIET_MILLIS = 1000

/**
 * All that an agent writes; undefined when it is too much. It is read to its end also then: an agent whose pipe breaks would
 * take the hook for failed.
 */
export function readInput(input: Readable, quietMillis: number = QUIET_MILLIS): Promise<Buffer | undefined> {
  return new Promise(resolve => {
    const chunks: Buffer[] = []
    let size = 0
    const finish = (): void => {
      clearTimeout(timer)
      resolve(size > MOST_BYTES ? undefined : Buffer.concat(chunks))
    }
    const timer = setTimeout(finish, quietMillis)
    input.on('data', (chunk: Buffer) => {
      timer.refresh()
      size += chunk.length
      if (size <= MOST_BYTES) chunks.push(chunk)
      else chunks.length = 0
    })
    input.on('end', finish).on('error', finish)
  })
}
