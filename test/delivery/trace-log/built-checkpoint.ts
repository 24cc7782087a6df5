import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Checkpoints and losses as the compiler makes them, for what takes several processes. */
export class BuiltCheckpoint {
  readonly #directory: string
  #scripts = 0

  private constructor(directory: string) {
    this.#directory = directory
  }

  static async build(): Promise<BuiltCheckpoint> {
    const directory = await mkdtemp(join(tmpdir(), 'hookspan-built-checkpoint-'))
    return new BuiltCheckpoint(directory)
  }

  /**
   * Starts `count` processes with the body of a module that finds everything of both files, and `state` and `index`, in
   * scope. They wait for each other, then go on together. Resolves with what each has printed.
   */
  async runTogether(count: number, state: string, body: string): Promise<string[]> {
    const script = join(this.#directory, `script-${this.#scripts++}.mjs`)
    await writeFile(script, `${PRELUDE}\n${body}`)
    const children = Array.from({ length: count }, (_, index) => {
      const child = spawn(process.execPath, [script, state, String(index)], { stdio: ['pipe', 'pipe', 'inherit'] })
      const lines: string[] = []
      const ready = new Promise<void>(resolve => {
        child.stdout.on('data', chunk => {
          lines.push(String(chunk))
          resolve()
        })
      })
      const ended = new Promise<string>(resolve => child.on('close', () => resolve(lines.join('').slice('.'.length))))
      return { child, ready, ended }
    })
    await Promise.all(children.map(({ ready, ended }) => Promise.race([ready, ended])))
    for (const { child } of children) child.stdin.end()
    return Promise.all(children.map(({ ended }) => ended))
  }

  async remove(): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true })
  }
}

const PRELUDE = `
import { readFileSync } from 'node:fs'
import * as checkpoints from '${new URL('../../../build/delivery/trace-log/checkpoint.js', import.meta.url)}'
import { listCheckpoints } from '${new URL('../../../build/delivery/trace-log/checkpoint.js', import.meta.url)}'
import * as losses from '${new URL('../../../build/delivery/trace-log/losses.js', import.meta.url)}'
const { Checkpoint, takeOverCheckpoint } = checkpoints
const { LossLog } = losses
const state = process.argv[2]
const index = Number(process.argv[3])
const waitForAll = () => { process.stdout.write('.'); readFileSync(0) }
`
