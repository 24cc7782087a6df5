import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { replay as replayCommand } from '../../src/cli/commands/replay.ts'
import { readExportLine, type StoredSpan } from '../../src/reading/stored-span.ts'
import { type FakeProcess, fakeIo } from './fake-io.ts'

const { run } = replayCommand

export interface Replayed {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface ReplayProcess extends FakeProcess {
  readonly stdin?: Iterable<Uint8Array | string>
}

/** `hookspan replay` within this process, in a home directory of its own. */
export class ScratchReplay {
  readonly home: string = mkdtempSync(join(tmpdir(), 'hookspan-replay-'))
  readonly stateDirectory: string = join(this.home, '.local', 'state', 'hookspan')

  path(name: string): string {
    return join(this.home, name)
  }

  put(name: string, text: string | Uint8Array): string {
    writeFileSync(this.path(name), text)
    return this.path(name)
  }

  async replay(args: string[], { stdin = [], ...given }: ReplayProcess = {}): Promise<Replayed> {
    const io = fakeIo({ home: this.home, ...given })
    const pieces = Array.from(stdin, piece => Buffer.from(piece as string))
    const code = await run(args, { ...io, stdin: Readable.from(pieces) })
    return { code, ...io.written }
  }

  /** Replays into `--out`, with no complaint, and reads it. */
  async spansOf(files: string[], given?: ReplayProcess): Promise<StoredSpan[]> {
    const out = this.path('spans.jsonl')
    const { code, stderr } = await this.replay([...files, '--out', out], given)
    if (code !== 0) throw new Error(stderr)
    return spansIn(out)
  }

  wroteState(): boolean {
    return existsSync(this.stateDirectory)
  }

  remove(): void {
    rmSync(this.home, { recursive: true, force: true })
  }
}

export function spansIn(path: string): StoredSpan[] {
  return linesOf(path).flatMap(readExportLine)
}

export function linesOf(path: string): string[] {
  return readFileSync(path, 'utf8').split('\n').slice(0, -1)
}
