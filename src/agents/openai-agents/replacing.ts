/** The same object with other methods. What is not replaced is called on the object itself: it may have what no other object can reach. */
export function replacing(object: object, methods: Readonly<Record<string, unknown>>): object {
  return new Proxy(object, {
    get: (target, key) => {
      if (typeof key === 'string' && Object.hasOwn(methods, key)) return methods[key]
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
