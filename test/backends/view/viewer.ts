import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { expect } from 'vitest'
import { thisOwner } from '../../../src/delivery/trace-log/index.ts'
import { ended, fixture, Program, REPOSITORY } from '../../cli/program.ts'
import { leave } from '../../delivery/trace-log/checkpoint-fixture.ts'
import { afterwards } from '../../support/afterwards.ts'

const STATE = join('.local', 'state', 'hookspan')
const URL_LINE = /(http:\/\/127\.0\.0\.1:\d+\/#k=[\w-]+)/

/** A viewer of a home of its own, as a person starts it. */
export class Viewer {
  readonly program: Program = new Program()
  url = ''
  #child: ChildProcessByStdio<null, Readable, Readable> | undefined

  /** What these recordings leave in the trace log. */
  async replay(...names: readonly string[]): Promise<void> {
    for (const name of names) {
      const { code, stderr } = await this.program.run(['replay', fixture(name)])
      if (code !== 0) throw new Error(`${name} could not be replayed: ${stderr}`)
    }
  }

  /** Lines into the trace log, as if a process had written them. */
  write(name: string, ...lines: readonly string[]): void {
    const folder = join(this.program.home, STATE, 'traces')
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFileSync(join(folder, name), lines.map(line => `${line}\n`).join(''), { flag: 'a', mode: 0o600 })
  }

  /** This process owns the segment, and lives. */
  own(segment: string): void {
    leave(join(this.program.home, STATE), { owner: thisOwner(), segment })
  }

  async start(...args: readonly string[]): Promise<void> {
    const { home } = this.program
    // Without the limit of a command that has an end: the page is looked at for minutes.
    const child = spawn(process.execPath, [join(REPOSITORY, 'dist', 'cli', 'main.js'), 'view', ...args], {
      cwd: home,
      env: { PATH: process.env['PATH'], HOME: home },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child = child
    this.url = await new Promise<string>((resolve, reject) => {
      let said = ''
      child.stdout.setEncoding('utf8').on('data', (piece: string) => {
        said += piece
        const url = URL_LINE.exec(said)?.[1]
        if (url !== undefined) resolve(url)
      })
      let complaint = ''
      child.stderr.setEncoding('utf8').on('data', (piece: string) => {
        complaint += piece
      })
      child.once('close', () => reject(new Error(`the viewer has ended: ${complaint}`)))
    })
  }

  get origin(): string {
    return new URL(this.url).origin
  }

  /** An address in the viewer, with its token. */
  at(path: string): string {
    return `${this.origin}${path}${new URL(this.url).hash}`
  }

  async stop(): Promise<void> {
    const child = this.#child
    if (child !== undefined && child.exitCode === null) {
      const over = new Promise(resolve => child.once('close', resolve))
      child.kill('SIGINT')
      await over
    }
    this.program.remove()
  }
}

/** An agent of one turn that runs for as long as the test wants. */
export class Agent {
  readonly #replay: ReturnType<Program['spawn']>
  readonly #hasEnded: Promise<unknown>

  constructor(viewer: Viewer) {
    this.#replay = viewer.program.spawn(['replay', '-', '--speed', '1'])
    this.#hasEnded = ended(this.#replay)
    afterwards(() => this.end())
  }

  emit(hook: string, payload: object): void {
    const ids = { session_id: 's-live', turn_id: 't-live' }
    this.#replay.stdin.write(`${JSON.stringify({ hook, at: Date.now(), payload: { ...ids, ...payload } })}\n`)
  }

  async end(): Promise<void> {
    this.#replay.stdin.end()
    await this.#hasEnded
  }
}

/** What a page did that it may not: asked somebody else, broke its policy, or failed. */
export class Watch {
  readonly requests: string[] = []
  readonly slips: string[] = []

  constructor(context: BrowserContext) {
    context.on('request', request => this.requests.push(request.url()))
    context.on('page', page => this.#watch(page))
    context.on('dialog', dialog => {
      this.slips.push(`asks: ${dialog.message()}`)
      void dialog.dismiss()
    })
  }

  #watch(page: Page): void {
    page.on('pageerror', error => this.slips.push(`fails: ${error.message}`))
    page.on('console', message => {
      // What is refused is told by the server, and by the page in words.
      if (message.type() === 'error' && !/status of (40[134]|503)/.test(message.text())) {
        this.slips.push(`complains: ${message.text()}`)
      }
    })
  }

  /** Requests that went to anybody but this origin. */
  strangers(origin: string): string[] {
    return this.requests.filter(url => !url.startsWith(`${origin}/`) && !url.startsWith('blob:'))
  }
}

export interface WatchedPage {
  readonly context: BrowserContext
  readonly page: Page
  readonly watch: Watch
}

/** A page of its own for one test, which fails if the page violates its policy or sends a request to another origin. */
export async function openPage(browser: Browser, viewer: Viewer, width: number, height: number): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width, height }, locale: 'en-GB', timezoneId: 'UTC' })
  const watch = new Watch(context)
  const page = await context.newPage()
  afterwards(async () => {
    await context.close()
    expect(watch.slips, 'violations by the page').toEqual([])
    expect(watch.strangers(viewer.origin), 'requests to other origins').toEqual([])
  })
  return { context, page, watch }
}
