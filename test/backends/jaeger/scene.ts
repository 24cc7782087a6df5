import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PluginOptions } from '../../../src/index.ts'
import { type Jaeger, type JaegerOptions, startJaeger } from '../servers/jaeger.ts'
import { eventually } from '../support/eventually.ts'
import { type Fed, type FeedOptions, feedWorkload } from '../workload/feed.ts'
import { JaegerQuery } from './query.ts'

/** A Jaeger of its own that has been fed, and a scratch directory. */
export class Scene {
  readonly home: string = mkdtempSync(join(tmpdir(), 'hookspan-jaeger-'))
  readonly jaeger: Jaeger
  readonly query: JaegerQuery

  private constructor(jaeger: Jaeger) {
    this.jaeger = jaeger
    this.query = new JaegerQuery(jaeger.url)
  }

  static async start(options?: JaegerOptions): Promise<Scene> {
    return new Scene(await startJaeger(options))
  }

  /** Feeds the workload through a plugin, and waits until Jaeger shows as many spans as it was sent. */
  async feed(
    backend: Readonly<Record<string, string>> = {},
    options: Pick<FeedOptions, 'scenarios'> & { readonly config?: PluginOptions } = {},
  ): Promise<Fed> {
    const backends = [{ type: 'jaeger', endpoint: this.jaeger.otlpUrl, ...backend }] as const
    const fed = await feedWorkload({
      home: this.home,
      ...(options.scenarios === undefined ? {} : { scenarios: options.scenarios }),
      config: { ...options.config, backends: backends as unknown as NonNullable<PluginOptions['backends']> },
    })
    // Raw: what is asked for otherwise is put right in the store itself, and a trace that was not complete yet keeps the
    // warnings of that.
    await eventually(
      async () => (await this.query.spans(serviceOf(fed), { raw: true })).length,
      count => count >= fed.spans.length,
    )
    return fed
  }

  async stop(): Promise<void> {
    await this.jaeger.stop()
    rmSync(this.home, { recursive: true, force: true })
  }
}

/** The one name under which all of it is filed. */
export function serviceOf({ spans }: Pick<Fed, 'spans'>): string {
  const names = new Set(spans.map(({ resource }) => resource['service.name']))
  const [name] = names
  if (names.size !== 1 || typeof name !== 'string')
    throw new Error(`one service was expected: ${[...names].join(', ')}`)
  return name
}
