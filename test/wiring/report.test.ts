import { expect, test, vi } from 'vitest'
import { createPlugin } from '../../src/index.ts'

test('lines for the person go where the host shows them, one line each, and not to stderr', async () => {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  const lines: string[] = []
  const plugin = createPlugin({
    local_log: false,
    prometheus: false,
    report: line => lines.push(line),
    sample_rate: 7,
  })
  const written = write.mock.calls.length
  write.mockRestore()
  await plugin.shutdown()
  expect(lines).toEqual([expect.stringMatching(/^config: sample_rate: .* got 7 /)])
  expect(written).toBe(0)
})

test('a host that throws at a line is not heard of again', async () => {
  const plugin = createPlugin({
    local_log: false,
    prometheus: false,
    sample_rate: 7,
    report: () => {
      throw new Error('the screen is gone')
    },
  })
  await expect(plugin.shutdown()).resolves.toBeUndefined()
})
