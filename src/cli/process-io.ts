import { homeDirectory } from '../plugin/config/paths.ts'
import type { CommandIo, Output, StopSignal } from './command.ts'

export function processIo(): CommandIo {
  let hangUp: () => void = ignore
  const hungUp = new Promise<void>(resolve => {
    hangUp = resolve
  })
  return {
    stdout: openOutput(process.stdout, hangUp),
    stderr: openOutput(process.stderr, ignore),
    get stdin() {
      return process.stdin
    },
    env: process.env,
    home: homeDirectory(),
    now: Date.now,
    interrupted: () => new Promise(onFirstSignal),
    hungUp: () => hungUp,
  }
}

function ignore(): void {
  // A listener that does nothing.
}

/** A pipe closed by its reader (`hookspan tree | head`) is ignored, a full disk reported. The command may have other work. */
function openOutput(stream: NodeJS.WriteStream, onClosed: () => void): Output {
  let isClosed = false
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && !isClosed) {
      process.exitCode = 1
      process.stderr.write(`hookspan: the output could not be written: ${error.message}\n`)
    }
    isClosed = true
    onClosed()
  })
  return {
    write(text) {
      if (!isClosed) stream.write(text)
    },
    get isTTY() {
      return stream.isTTY === true
    },
    get columns() {
      return stream.columns
    },
    get rows() {
      return stream.rows
    },
  }
}

function onFirstSignal(handle: (signal: StopSignal) => void): void {
  const stop = (signal: NodeJS.Signals): void => {
    process.off('SIGINT', stop)
    process.off('SIGTERM', stop)
    handle(signal as StopSignal)
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
}
