import { expect, test } from 'vitest'
import { saveAtExit } from '../../src/wiring/exit.ts'

test('one plugin that fails to save at the exit keeps no other from it, and does not fail the process', () => {
  let isSaved = false
  const forget = [
    saveAtExit(() => {
      throw new Error('odd')
    }),
    saveAtExit(() => {
      isSaved = true
    }),
  ]
  const [atExit] = process.listeners('exit').filter(({ name }) => name === 'onExit')
  try {
    expect(() => atExit?.(0)).not.toThrow()
    expect(isSaved).toBe(true)
  } finally {
    for (const take of forget) take()
  }
})
