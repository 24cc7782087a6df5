import { expect, test } from 'vitest'
import { StatusArea } from '../../src/cli/terminal.ts'

function terminal(columns: number) {
  return {
    text: '',
    columns,
    isTTY: true,
    write(text: string) {
      this.text += text
    },
    /** What was written since the last look. */
    look(): string {
      const { text } = this
      this.text = ''
      return text
    },
  }
}

test('draws lines in the place of the previous ones', () => {
  const output = terminal(80)
  const area = new StatusArea(output)
  area.show(['one', 'two'])
  expect(output.look()).toBe('one\ntwo\n')
  area.show(['three'])
  expect(output.look()).toBe('\u001b[2A\r\u001b[Jthree\n')
  area.clear()
  expect(output.look()).toBe('\u001b[1A\r\u001b[J')
})

test('writes nothing when nothing has changed', () => {
  const output = terminal(80)
  const area = new StatusArea(output)
  area.clear()
  area.show(['one'])
  output.look()
  area.show(['one'])
  expect(output.look()).toBe('')
  area.clear()
  output.look()
  area.clear()
  expect(output.look()).toBe('')
})

test('erases wrapped lines in a window that was made narrower', () => {
  const output = terminal(80)
  const area = new StatusArea(output)
  area.show([`\u001b[33m${'x'.repeat(70)}\u001b[0m`, 'two', ''])
  output.look()
  output.columns = 30
  area.clear()
  expect(output.look()).toBe('\u001b[5A\r\u001b[J')
})
