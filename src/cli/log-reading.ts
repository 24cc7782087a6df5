import { humanBytes } from '../reading/human-figures.ts'
import type { CommandIo } from './command.ts'
import { Interruption } from './interruption.ts'
import { bytesOf } from './play-files.ts'
import { Progress } from './terminal.ts'

class Stopped extends Error {
  override readonly name = 'Stopped'
}

/**
 * Reads large files with a progress line. Ctrl-C ends it and discards the partial result.
 *
 * @param read receives a callback for the number of bytes read
 * @throws the error of `read`
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
    // The second pass reads only the selected traces and is much faster.
    if (done > total && done - bytes <= total) progress.showStep('reading the selected traces …')
    if (done <= total) progress.update(done, () => `reading ${humanBytes(total)}`)
  }
  try {
    return await read(onRead)
  } catch (error) {
    const { exitCode } = interruption
    if (!(error instanceof Stopped) || exitCode === undefined) throw error
    progress.end()
    io.stderr.write(`Interrupted at ${progress.share}; nothing is printed\n`)
    return { exitCode }
  } finally {
    progress.end()
  }
}
