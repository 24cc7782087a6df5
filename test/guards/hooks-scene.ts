import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { vi } from 'vitest'
import {
  type ConfiguredHooks,
  type HookFolderSettings,
  loadConfiguredHooks,
} from '../../src/guards/configured-hooks.ts'
import type { About } from '../../src/guards/context.ts'
import { REPOSITORY } from '../cli/program.ts'
import { afterwards } from '../support/afterwards.ts'

/** From the build: Node starts no thread with TypeScript in it. */
const THREAD: URL = pathToFileURL(join(REPOSITORY, 'build', 'guards', 'isolated-thread.js'))

/** A file with one hook, which blocks every tool with its name. */
export const blocker = (name: string, more = ''): string =>
  `export default { name: '${name}', ${more} beforeTool: () => ({ decision: 'block', reason: '${name}' }) }\n`

/** Stops the clock of timers meanwhile, unless the test controls it: a busy machine can exceed the time limit of a load. */
export async function withoutTimeLimit<Loaded>(load: () => Promise<Loaded>): Promise<Loaded> {
  if (vi.isFakeTimers()) return load()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    return await load()
  } finally {
    vi.useRealTimers()
  }
}

/** A home and a project, in a folder that is removed after the test. */
export class HooksScene {
  readonly home: string = realpathSync(mkdtempSync(join(tmpdir(), 'hookspan-hooks-')))
  readonly globalFolder: string = join(this.home, '.config', 'hookspan', 'hooks')
  readonly project: string = join(this.home, 'project')
  readonly projectFolder: string = join(this.project, '.hookspan', 'hooks')
  readonly place: string = join(this.home, '.local', 'state', 'hookspan', 'hooks')

  constructor() {
    mkdirSync(this.project, { mode: 0o700 })
    afterwards(() => rmSync(this.home, { recursive: true, force: true }))
  }

  /** Writes files that nobody else could write. */
  put(folder: string, files: Readonly<Record<string, string>>): void {
    for (const [path, text] of Object.entries(files)) {
      const full = join(folder, path)
      mkdirSync(dirname(full), { recursive: true, mode: 0o700 })
      writeFileSync(full, text)
      chmodSync(full, 0o600)
    }
  }

  async load(settings: Partial<HookFolderSettings> = {}, project?: string): Promise<ConfiguredHooks> {
    const { globalFolder, place } = this
    const usual = {
      globalFolder,
      privateFolder: place,
      isGlobalFolderNamed: false,
      isProjectLocal: false,
      timeLimitMillis: undefined,
      options: {},
      thread: THREAD,
    }
    const configured = await withoutTimeLimit(() => loadConfiguredHooks({ ...usual, ...settings }, project))
    afterwards(() => configured.close())
    return configured
  }
}

/** What a run is about, and what is said in it. */
export function about(said: string[] = []): About {
  const say = (line: string): void => void said.push(line)
  return { host: 'test', sessionId: 's', turnId: 't', state: {}, logger: { info: say, warn: say } }
}

/** A line without the folder of the scene. */
export function plain(lines: readonly string[], { home }: HooksScene): string[] {
  return lines.map(line => line.replaceAll(home, '~'))
}
