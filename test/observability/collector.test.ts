import { expect, test } from 'vitest'
import { compose, imageKey, LISTENS, mounts, published, reached, type Service, yaml } from './stack-files.ts'

interface Pipeline {
  readonly receivers: readonly string[]
  readonly processors: readonly string[]
  readonly exporters: readonly string[]
}

interface Collector {
  readonly extensions: Readonly<Record<string, { endpoint: string }>>
  readonly receivers: { readonly otlp: { readonly protocols: Readonly<Record<string, { endpoint: string }>> } }
  readonly processors: Readonly<Record<string, unknown>>
  readonly exporters: Readonly<Record<string, { endpoint?: string; encoding?: string }>>
  readonly service: {
    readonly extensions: readonly string[]
    readonly pipelines: Readonly<Record<string, Pipeline>>
  }
}

const collector = yaml<Collector>('observability/collector.yaml')
const pipelines = Object.entries(collector.service.pipelines)
const service = compose.services['collector']

function portOf(endpoint: string | undefined): number {
  return Number(endpoint?.split(':').at(-1))
}

test.each(pipelines)('refers only to defined components in the pipeline %s', (_name, pipeline) => {
  for (const part of ['receivers', 'processors', 'exporters'] as const) {
    expect(pipeline[part].length).toBeGreaterThan(0)
    for (const id of pipeline[part]) expect(Object.keys(collector[part])).toContain(id)
  }
  expect(pipeline.processors[0]).toBe('memory_limiter')
  expect(pipeline.processors.at(-1)).toBe('batch')
})

test('uses every definition', () => {
  for (const part of ['receivers', 'processors', 'exporters'] as const) {
    const used = new Set(pipelines.flatMap(([, pipeline]) => pipeline[part]))
    expect(new Set(Object.keys(collector[part]))).toEqual(used)
  }
  expect(Object.keys(collector.extensions)).toEqual(collector.service.extensions)
})

test('sends traces to a Jaeger and a Phoenix of the same profile, on their ports', () => {
  const traces = collector.service.pipelines['traces']
  expect(traces?.exporters).toEqual(['otlp_http/jaeger', 'otlp_http/phoenix'])
  for (const id of traces?.exporters ?? []) {
    const url = new URL(collector.exporters[id]?.endpoint ?? '')
    const target = reached('all', url.hostname)
    expect(target && imageKey(target)).toBe(id.split('/')[1])
    expect(LISTENS[url.hostname]).toContain(Number(url.port))
  }
})

test('never sends JSON to Phoenix', () => {
  expect(collector.exporters['otlp_http/phoenix']?.encoding).toBe('proto')
})

test('serves metrics where Prometheus scrapes them', () => {
  const { scrape_configs: jobs } = yaml<{
    scrape_configs: { job_name: string; honor_labels?: boolean; file_sd_configs?: { files: string[] }[] }[]
  }>('observability/prometheus.yml')
  const job = jobs.find(({ job_name }) => job_name === 'collector')
  expect(collector.service.pipelines['metrics']?.exporters).toEqual(['prometheus'])
  const [mount] = mounts(compose.services['prometheus-behind-collector'] as Service).filter(
    ({ from }) => from === './observability/collector-target.yml',
  )
  expect(job?.file_sd_configs).toEqual([{ files: [mount?.to] }])
  expect(yaml('observability/collector-target.yml')).toEqual([
    { targets: [`collector:${portOf(collector.exporters['prometheus']?.endpoint)}`] },
  ])
  expect(job?.honor_labels).toBe(true)
})

test('publishes the ports for the host, and accepts connections from outside its container on all', () => {
  const { grpc, http } = collector.receivers.otlp.protocols
  const outside = [grpc?.endpoint, http?.endpoint, collector.extensions['health_check']?.endpoint]
  const everything = [...outside, collector.exporters['prometheus']?.endpoint]
  expect(service && published(service).map(({ containerPort }) => containerPort)).toEqual(outside.map(portOf))
  for (const endpoint of everything) expect(endpoint).toMatch(/^0\.0\.0\.0:\d+$/)
  expect(LISTENS['collector']).toEqual(expect.arrayContaining(everything.map(portOf)))
})

test('is mounted where the command looks for it', () => {
  const target = service && mounts(service).find(({ from }) => from === './observability/collector.yaml')?.to
  expect(service?.command).toEqual([`--config=${target}`])
})
