// Made by Scripts/embed from Sources/BraidServer/Inspector/row.js.

extension Embedded {
    static let rowJS = ##"""
        import { button, h, jsonBlock } from "./dom.js";
        import { rowName } from "./frames.js";
        import { copyButton } from "./toasts.js";

        /** The panel of the selected row: what it is, and each command that it allows, to be sent or copied. */
        export class RowPanel {
          element = h("div", { class: "panel-content" });

          show(screen) {
            const place = screen.table.find(screen.selected);
            if (!place) {
              return this.element.replaceChildren(
                h("p", { class: "note" }, "Select a row: its model, what it is shown from, and what can be done with it stand here."),
              );
            }
            const [s, r] = place;
            const section = screen.snapshot.sections[s];
            const row = section.rows[r];
            if (row === this.row && screen.table.readOnly === this.readOnly && this.element.childElementCount > 1) {
              this.place.textContent = placeText(section, place);
              return;
            }
            this.row = row;
            this.readOnly = screen.table.readOnly;
            this.place = h("dd", {}, placeText(section, place));
            const facts = [
              ["Place", this.place],
              ["id", row.id],
              ["cell", row.cell],
              ["editing", row.editing],
              ["movable", row.movable && movesTo(section)],
              ["height", row.height ?? row.estimatedHeight],
            ];
            this.element.replaceChildren(
              h("h3", {}, rowName(row, r)),
              h(
                "dl",
                { class: "facts" },
                facts.filter(([, value]) => value !== undefined && value !== false).flatMap((
                  [name, value],
                ) => [h("dt", {}, name), value instanceof Node ? value : h("dd", {}, String(value))]),
              ),
              ...(row.viewModel !== undefined ? [h("h4", {}, "View model"), jsonBlock(row.viewModel, "View model")] : []),
              ...(row.model !== undefined ? [h("h4", {}, "Model"), jsonBlock(row.model, "Model")] : []),
              h("h4", {}, "Commands"),
              h("div", { class: "actions" }, actions(screen, place, section, row)),
            );
          }
        }

        const placeText = (section, [s, r]) => `[${s}, ${r}] in ${section.id}`;
        const movesTo = ({ movesTo }) => movesTo === "anySection" ? "to any section" : `to ${movesTo?.join(", ") ?? "nowhere"}`;

        function actions(screen, [s, r], section, row) {
          const { ref, base } = screen.table.reference([s, r]);
          const list = [action(screen, "Tap", [], () => ["taps", { at: ref }, { base }])];
          if (row.editing === "delete") list.push(action(screen, "Delete", [], () => ["edits", { delete: ref }, { base }]));
          if (row.editing === "insert") {
            const model = field("model", { elements: {} }, row.model ?? {});
            list.push(
              action(
                screen,
                "Insert here",
                [model],
                () => ["edits", { insert: { section: section.id, row: r }, model: model.read() }, { base: screen.snapshot.revision }],
              ),
            );
          }
          if (row.movable) {
            const targets = screen.snapshot.sections.map(({ id }) => id).filter((id) => section.movesTo === "anySection" || section.movesTo?.includes(id));
            const [to, index] = [field("to", { enum: targets }, section.id), field("row", { type: "uint32" }, 0)];
            list.push(
              action(
                screen,
                "Move",
                [to, index],
                () => ["moves", { from: ref, to: { section: to.read(), row: index.read() } }, { base: screen.snapshot.revision }],
              ),
            );
          }
          const events = Object.entries(screen.description?.cells?.[row.cell]?.events ?? {});
          return [
            ...list,
            ...events.map(([event, schema]) => {
              const fields = Object.entries({ ...schema.properties, ...schema.optionalProperties }).map(([name, type]) =>
                field(name, type, (row.viewModel ?? row.model)?.[name])
              );
              return action(
                screen,
                event,
                fields,
                () => ["events", { at: ref, event: { [event]: Object.fromEntries(fields.map((field) => [field.name, field.read()])) } }, { base }],
              );
            }),
          ];
        }

        /** A line with a command's name, its fields, and buttons that send and copy it. `command()` gives `[kind, body, {base}]`. */
        function action(screen, label, fields, command) {
          return h(
            "form",
            {
              class: "action",
              on: {
                submit: (event) => {
                  event.preventDefault();
                  screen.perform(...command());
                },
              },
            },
            h("span", { class: "action-name" }, label),
            fields.map(({ element }) => element),
            h(
              "span",
              { class: "action-buttons" },
              button("Send", () => {}, { type: "submit", kind: "small", disabled: screen.table.readOnly, "aria-label": `Send ${label}` }),
              copyButton(() => screen.curl(...command()), `Copy ${label} as curl`),
            ),
          );
        }

        /** A field for a value of a JTD schema: `{name, element, read()}`. */
        function field(name, schema, value) {
          const label = (input) => h("label", {}, h("span", {}, name), input);
          if (schema.enum) {
            const input = h("select", {}, schema.enum.map((option) => h("option", { value: option, selected: option === value }, option)));
            return { name, element: label(input), read: () => input.value };
          }
          if (schema.type === "boolean") {
            const input = h("input", { type: "checkbox", checked: value === false });
            return { name, element: label(input), read: () => input.checked };
          }
          const isText = schema.type === "string" || schema.type === "timestamp";
          const isNumber = schema.type && !isText;
          const input = h("input", {
            type: isNumber ? "number" : "text",
            step: "any",
            spellcheck: false,
            value: isText ? value ?? "" : isNumber ? value ?? 0 : JSON.stringify(value ?? null),
          });
          return { name, element: label(input), read: () => isText ? input.value : isNumber ? Number(input.value) : JSON.parse(input.value) };
        }

        """##
}
