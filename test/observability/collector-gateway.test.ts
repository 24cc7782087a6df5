import { expect, test } from 'vitest'
import { yaml } from './stack-files.ts'

interface Gateway {
  readonly extensions: { readonly file_storage: Readonly<Record<string, unknown>> }
  readonly receivers: { readonly otlp: { readonly protocols: { readonly http: { readonly tls: object } } } }
  readonly exporters: {
    readonly 'otlp_http/store': { readonly sending_queue: object; readonly retry_on_failure: object }
  }
  readonly service: {
    readonly extensions: readonly string[]
    readonly pipelines: Readonly<Record<string, Readonly<Record<'receivers' | 'processors' | 'exporters', string[]>>>>
  }
}

const { extensions, receivers, exporters, service } = yaml<Gateway>('observability/collector-gateway.yaml')
const { sending_queue: queue, retry_on_failure: retry } = exporters['otlp_http/store']

test('has nothing between the answer and the queue on the disk', () => {
  const way = { receivers: ['otlp'], processors: ['memory_limiter'], exporters: ['otlp_http/store'] }
  expect(service.pipelines).toEqual({ traces: way, metrics: way })
})

test('has its queue on the disk, in bytes, and drops nothing', () => {
  expect(queue).toMatchObject({ storage: 'file_storage', sizer: 'bytes' })
  // With `wait_for_result` a store that is down would be one that refuses.
  expect(Object.keys(queue)).not.toContain('wait_for_result')
  expect(retry).toMatchObject({ max_elapsed_time: 0 })
  expect(extensions.file_storage).toMatchObject({
    fsync: true,
    create_directory: true,
    compaction: { on_rebound: true, cleanup_on_start: true },
  })
  expect(service.extensions).toContain('file_storage')
})

test('requires a certificate of agents', () => {
  expect(receivers.otlp.protocols.http.tls).toMatchObject({
    cert_file: expect.stringContaining('GATEWAY_CERTIFICATE'),
    key_file: expect.stringContaining('GATEWAY_KEY'),
    client_ca_file: expect.stringContaining('GATEWAY_CLIENT_AUTHORITY'),
  })
})
