// Checks that need all bindings.
extension DescriptionCompiler {
    /// Rows move only between sections of one model type, and only to stored rows.
    mutating func checkMoves(_ bindings: TableBindings, _ binder: Binder) {
        // Many bindings can have one large scope, such as "allOtherSections".
        var typesOfScope: [Scope: Set<UTF8Key?>] = [:]
        for binding in bindings.bindings {
            guard case .sections(let targets)? = binding.moving?.targets else { continue }
            let pointer = binding.pointer.appending("moving").appending("to")
            let sources = bindings.sections(of: binding)
            let types =
                typesOfScope[binding.scope] ?? Set(sources.compactMap { binder.binding(of: $0) }.map(\.modelType.name))
            typesOfScope[binding.scope] = types
            for (index, target) in targets.enumerated() where !reader.isFull {
                guard let to = binder.binding(of: target) else { continue }
                if !to.cells.source.isStored {
                    reader.fault(
                        pointer.appending(index), .conflict,
                        "the rows of the section \"\(target)\" are derived: none can be moved there")
                    continue
                }
                guard types.contains(where: { $0 != to.modelType.name }) else { continue }
                let other = sources.first {
                    binder.binding(of: $0).map { $0.modelType.name != to.modelType.name } ?? false
                }
                guard let other, let from = binder.binding(of: other) else { continue }
                reader.fault(
                    pointer.appending(index), .conflict,
                    "the models of \"\(other)\" are of the type \(from.modelType.nameForMessages), those of \"\(target)\" of the type \(to.modelType.nameForMessages): rows cannot be moved between them"
                )
            }
        }
    }

    /// A binding without cells may not bind `editing`, `insert` or `moving` if all its sections are derived.
    mutating func checkPolicies(_ bindings: TableBindings, _ binder: Binder) {
        var derived: [Scope: Bool] = [:]
        for binding in bindings.bindings where binding.cells == nil && !reader.isFull {
            let policies = [
                ("editing", binding.editing != nil), ("insert", binding.insertTemplate != nil),
                ("moving", binding.moving != nil),
            ]
            guard policies.contains(where: \.1), isDerived(binding, bindings, binder, &derived) else { continue }
            for (member, isBound) in policies where isBound {
                reader.fault(
                    binding.pointer.appending(member), .conflict,
                    "derived rows cannot be edited or moved; change what they derive from in a handler")
            }
        }
    }

    /// `known` by scope: many bindings can have one large scope.
    private func isDerived(
        _ binding: ScopeBinding, _ bindings: TableBindings, _ binder: Binder, _ known: inout [Scope: Bool]
    ) -> Bool {
        if let isDerived = known[binding.scope] { return isDerived }
        let bound = bindings.sections(of: binding).lazy.compactMap { binder.binding(of: $0) }
        let isDerived = !bound.isEmpty && bound.allSatisfy { !$0.cells.source.isStored }
        known[binding.scope] = isDerived
        return isDerived
    }

    /// Warns about actions on the handler's own row if all rows are derived.
    mutating func checkActions(_ bindings: TableBindings, _ binder: Binder) {
        guard reader.warns else { return }
        let actions = Dictionary(grouping: reader.actionsOnOwnRow) { JSONPointer(tokens: Array($0.tokens.prefix(2))) }
        var derived: [Scope: Bool] = [:]
        for binding in bindings.bindings where reader.warnings.count < DescriptionReader.faultLimit {
            guard let pointers = actions[binding.pointer], isDerived(binding, bindings, binder, &derived) else {
                continue
            }
            for pointer in pointers {
                reader.warn(
                    pointer, .conflict,
                    "the handler's own row is derived, which no action can change: change what it derives from"
                )
            }
        }
    }

    /// `assumingModelType` must be the type that another binding binds.
    mutating func checkAssumedTypes(_ bindings: TableBindings, _ binder: Binder) {
        for binding in bindings.bindings where !reader.isFull {
            guard let name = binding.assumedType else { continue }
            let pointer = binding.pointer.appending("assumingModelType")
            if modelTypes[name] == nil {
                reader.fault(pointer, .unknownName, "the model type \"\(name.string)\" is not declared in `modelTypes`")
            } else if let (section, bound) = bindings.mismatch(of: binding, in: binder) {
                reader.fault(
                    pointer, .conflict,
                    "the models of the section \"\(section)\" are of the type \(bound.nameForMessages), not \"\(name.string)\""
                )
            }
        }
    }
}
