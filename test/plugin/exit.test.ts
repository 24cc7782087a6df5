import { expect, test } from 'vitest'
import { saveAtExit } from '../../src/plugin/exit.ts'
import { createTestPlugin } from '../../src/testing.ts'

/** Another copy of the package in this process, say a built one, has one of the same name. */
const atExit = () => process.listeners('exit').filter(({ name }) => name === 'onExit')

test('saves the other plugins at the exit if one fails, and does not fail the process', () => {
  let isSaved = false
  const forget = [
    saveAtExit(() => {
      throw new Error('odd')
    }),
    saveAtExit(() => {
      isSaved = true
    }),
  ]
  try {
    for (const listener of atExit()) expect(() => listener(0)).not.toThrow()
    expect(isSaved).toBe(true)
  } finally {
    for (const take of forget) take()
  }
})

test('keeps nothing alive for a plugin for tests without a shutdown', () => {
  const plugin = createTestPlugin({ host: 'my-agent' })
  plugin.emit('on_session_start', { session_id: 's1' })
  const forget = saveAtExit(() => undefined)
  try {
    for (const listener of atExit()) listener(0)
    expect(plugin.stats().turnsOpen).toBe(1)
  } finally {
    forget()
  }
})
