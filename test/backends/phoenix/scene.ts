import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PluginOptions } from '../../../src/index.ts'
import { type Phoenix, type PhoenixOptions, startPhoenix } from '../servers/phoenix.ts'
import { eventually } from '../support/eventually.ts'
import { type Fed, type FeedOptions, feedWorkload } from '../workload/feed.ts'
import { PhoenixQuery } from './query.ts'

/** A Phoenix of its own, and a scratch directory. Each project of it is a world of its own. */
export class Scene {
  readonly home: string = mkdtempSync(join(tmpdir(), 'hookspan-phoenix-'))
  readonly phoenix: Phoenix
  readonly query: PhoenixQuery

  private constructor(phoenix: Phoenix) {
    this.phoenix = phoenix
    this.query = new PhoenixQuery(phoenix.url, phoenix.adminToken)
  }

  static async start(options: PhoenixOptions = {}): Promise<Scene> {
    return new Scene(await startPhoenix(options))
  }

  /** Feeds the workload into a project, and waits until Phoenix has as many spans as it was sent. */
  async feed(
    project: string,
    options: Pick<FeedOptions, 'scenarios'> & { readonly config?: PluginOptions } = {},
  ): Promise<Fed> {
    const fed = await feedWorkload({
      home: join(this.home, project),
      ...(options.scenarios === undefined ? {} : { scenarios: options.scenarios }),
      config: {
        ...options.config,
        project_name: project,
        backends: [{ type: 'phoenix', endpoint: this.phoenix.url }],
      },
    })
    await this.settled(project, fed.spans.length)
    return fed
  }

  settled(project: string, spans: number): Promise<number> {
    return eventually(
      () => this.query.count(project),
      count => count >= spans,
    )
  }

  async stop(): Promise<void> {
    await this.phoenix.stop()
    rmSync(this.home, { recursive: true, force: true })
  }
}
