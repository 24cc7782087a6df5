import { Readable } from 'node:stream'
import type { CommandIo, StopSignal } from '../../src/cli/command.ts'

export interface FakeIo extends CommandIo {
  /** All that was written so far. */
  readonly written: { readonly stdout: string; readonly stderr: string }
  /** As Ctrl-C does. */
  interrupt(signal?: StopSignal): void
}

export interface FakeProcess {
  readonly home?: string
  readonly env?: Readonly<Record<string, string>>
  /** Cells of a terminal; without them the output is a pipe. */
  readonly columns?: number
  readonly rows?: number
  /** Default: a clock that stands still. */
  readonly now?: () => number
}

export function fakeIo({
  home = '/nowhere',
  env = {},
  columns,
  rows,
  now = () => 1795256100000,
}: FakeProcess = {}): FakeIo {
  const written = { stdout: '', stderr: '' }
  let interrupt: (signal: StopSignal) => void = () => undefined
  const interrupted = new Promise<StopSignal>(resolve => {
    interrupt = resolve
  })
  const output = (name: 'stdout' | 'stderr') => ({
    write(text: string) {
      written[name] += text
    },
    isTTY: columns !== undefined,
    columns,
    rows,
  })
  return {
    stdout: output('stdout'),
    stderr: output('stderr'),
    stdin: Readable.from([]),
    env,
    home,
    now,
    interrupted: () => interrupted,
    hungUp: () => new Promise(() => undefined),
    written,
    interrupt: (signal = 'SIGINT') => interrupt(signal),
  }
}
