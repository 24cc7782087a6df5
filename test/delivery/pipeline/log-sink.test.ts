import { expect, test } from 'vitest'
import { OtlpLogSink } from '../../../src/delivery/pipeline/log-sink.ts'
import { PlainResource, UNSERIALISABLE } from '../../../src/delivery/trace-log/index.ts'

const never = new AbortController().signal

test.each(['http/json', 'grpc'] as const)('drops events that cannot be serialised, over %s', async protocol => {
  const transport = {
    deliver: () => Promise.reject(new Error('nothing can be sent')),
    close: () => Promise.resolve(),
  }
  const attributes = {
    get shard(): string {
      throw new Error('unreadable')
    },
  }
  const sink = new OtlpLogSink(protocol, transport, new PlainResource({}), '1.0.0')
  const sent = await sink.send([{ severity: 'INFO', at: 1, observedAt: 1, attributes }], never)
  expect(sent).toEqual({ lost: 1, failure: UNSERIALISABLE })
})
