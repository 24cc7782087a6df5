import { humanBytes } from '../viewer/human-figures.ts'
import type { CommandIo } from './command.ts'
import { Interruption } from './interruption.ts'
import { Progress } from './progress.ts'
import { bytesOf } from './record-feed.ts'

class Stopped extends Error {
  override readonly name = 'Stopped'
}

/**
 * Reads files that may be large, and says how far it is; Ctrl-C ends it, and what was read by half is not used.
 *
 * @param read calls back with so many bytes more
 * @throws what `read` throws
 */
export async function readWatched<Result>(
  files: readonly string[],
  read: (onRead: (bytes: number) => void) => Promise<Result>,
  io: CommandIo,
): Promise<Result | { readonly exitCode: number }> {
  const total = (await bytesOf(files)) ?? 0
  const progress = new Progress(io, total)
  const interruption = new Interruption(io)
  let done = 0
  const onRead = (bytes: number): void => {
    if (interruption.stop.aborted) throw new Stopped()
    done += bytes
    // Once more, for the traces that are wanted, and much faster.
    if (done > total && done - bytes <= total) progress.say('gathering what is drawn …')
    if (done <= total) progress.at(done, () => `reading ${humanBytes(total)}`)
  }
  try {
    return await read(onRead)
  } catch (error) {
    const { exitCode } = interruption
    if (!(error instanceof Stopped) || exitCode === undefined) throw error
    progress.end()
    io.stderr.write(`Interrupted at ${progress.share}; nothing is drawn\n`)
    return { exitCode }
  } finally {
    progress.end()
  }
}
