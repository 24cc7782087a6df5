import { humanBytes } from '../reading/human-figures.ts'
import { type CommandIo, Interrupted } from './command.ts'
import { Interruption } from './interruption.ts'
import { bytesOf } from './play-files.ts'
import { Progress } from './terminal.ts'

/**
 * Reads large files with a progress line. Ctrl-C ends it and discards the partial result.
 *
 * @param read receives a callback for the number of bytes read
 * @throws Interrupted, or the error of `read`
 */
export async function readWatched<Result>(
  files: readonly string[],
  read: (onRead: (bytes: number) => void) => Promise<Result>,
  io: CommandIo,
): Promise<Result> {
  const total = (await bytesOf(files)) ?? 0
  const progress = new Progress(io, total)
  const interruption = new Interruption(io)
  let done = 0
  const onRead = (bytes: number): void => {
    if (interruption.exitCode !== undefined) {
      progress.end()
      io.stderr.write(`Interrupted at ${progress.share}; nothing is printed\n`)
      throw new Interrupted(interruption.exitCode)
    }
    done += bytes
    // The second pass reads only the selected traces and is much faster.
    if (done > total && done - bytes <= total) progress.showStep('reading the selected traces …')
    if (done <= total) progress.update(done, () => `reading ${humanBytes(total)}`)
  }
  try {
    return await read(onRead)
  } finally {
    progress.end()
  }
}
