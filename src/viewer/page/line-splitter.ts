export class TextLineSplitter {
  #rest = ''

  splitChunk(piece: string): string[] {
    const lines = (this.#rest + piece).split('\n')
    this.#rest = lines.pop() ?? ''
    return lines.filter(line => line.trim() !== '')
  }
}
