package braid.testing;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * JSON as values of Java: {@code Map<String, Object>}, {@code List<Object>}, {@code String}, {@code Long}, {@code BigDecimal},
 * {@code Boolean} and {@code null}. Integers of at most 18 digits are {@code Long}, all other numbers are {@code
 * BigDecimal}.
 */
public final class Json {
    private final String text;
    private int index = 0;

    private Json(String text) {
        this.text = text;
    }

    /**
     * Reads one JSON value. Throws {@code IllegalArgumentException} if the text is not JSON, or is nested deeper than
     * 512 levels.
     */
    public static Object parse(String text) {
        Json reader = new Json(text);
        Object value = reader.value(0);
        reader.skipSpace();
        if (reader.index < text.length()) {
            throw reader.fault("there is more after the value");
        }
        return value;
    }

    /**
     * Writes a value as compact JSON. The value may also contain numbers of other classes than those that {@code parse}
     * returns.
     */
    public static String write(Object value) {
        StringBuilder result = new StringBuilder();
        write(value, result);
        return result.toString();
    }

    /**
     * The value at a path of names and indexes: {@code Json.at(snapshot, "sections", 0, "id")}. Returns {@code null} if
     * there is no value.
     */
    public static Object at(Object value, Object... path) {
        Object found = value;
        for (Object step : path) {
            if (step instanceof Integer index) {
                found = found instanceof List<?> list && index >= 0 && index < list.size() ? list.get(index) : null;
            } else {
                found = found instanceof Map<?, ?> map ? map.get(step) : null;
            }
        }
        return found;
    }

    /**
     * The object at a path. The result is {@code null} if there is no value. Throws {@code ClassCastException} if the
     * value is not an object.
     */
    @SuppressWarnings("unchecked")
    public static Map<String, Object> object(Object value, Object... path) {
        return (Map<String, Object>) Map.class.cast(at(value, path));
    }

    /**
     * The array at a path. The result is empty if there is no value. Throws {@code ClassCastException} if the value is
     * not an array.
     */
    @SuppressWarnings("unchecked")
    public static List<Object> array(Object value, Object... path) {
        Object found = at(value, path);
        return found == null ? List.of() : (List<Object>) List.class.cast(found);
    }

    // Reading

    private static final int DEEPEST = 512;

    private Object value(int depth) {
        skipSpace();
        if (index == text.length()) {
            throw fault("a value is missing");
        }
        if (depth > DEEPEST) {
            throw fault("the value is too deep");
        }
        switch (text.charAt(index)) {
            case '{':
                return objectValue(depth);
            case '[':
                return arrayValue(depth);
            case '"':
                return string();
            case 't':
                return word("true", Boolean.TRUE);
            case 'f':
                return word("false", Boolean.FALSE);
            case 'n':
                return word("null", null);
            default:
                return number();
        }
    }

    private Map<String, Object> objectValue(int depth) {
        Map<String, Object> result = new LinkedHashMap<>();
        index++;
        if (takes('}')) {
            return result;
        }
        do {
            skipSpace();
            if (index == text.length() || text.charAt(index) != '"') {
                throw fault("a name is missing");
            }
            String name = string();
            if (!takes(':')) {
                throw fault("a colon is missing");
            }
            result.put(name, value(depth + 1));
        } while (takes(','));
        if (!takes('}')) {
            throw fault("the object does not end");
        }
        return result;
    }

    private List<Object> arrayValue(int depth) {
        List<Object> result = new ArrayList<>();
        index++;
        if (takes(']')) {
            return result;
        }
        do {
            result.add(value(depth + 1));
        } while (takes(','));
        if (!takes(']')) {
            throw fault("the array does not end");
        }
        return result;
    }

    private String string() {
        StringBuilder result = new StringBuilder();
        index++;
        while (index < text.length()) {
            char character = text.charAt(index++);
            if (character == '"') {
                return result.toString();
            }
            if (character < ' ') {
                throw fault("a control character is not escaped");
            }
            result.append(character == '\\' ? escaped() : character);
        }
        throw fault("the string does not end");
    }

    private char escaped() {
        int kind = index == text.length() ? -1 : "\"\\/bfnrtu".indexOf(text.charAt(index++));
        if (kind < 0) {
            throw fault("the escape is unknown");
        }
        if (kind < 8) {
            return "\"\\/\b\f\n\r\t".charAt(kind);
        }
        if (index + 4 > text.length() || !text.substring(index, index + 4).matches("[0-9a-fA-F]{4}")) {
            throw fault("four hexadecimal digits are missing");
        }
        index += 4;
        return (char) Integer.parseInt(text.substring(index - 4, index), 16);
    }

    private Object number() {
        int start = index;
        while (index < text.length() && "+-.eE0123456789".indexOf(text.charAt(index)) >= 0) {
            index++;
        }
        String digits = text.substring(start, index);
        if (!digits.matches("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?")) {
            index = start;
            throw fault("there is no value");
        }
        if (digits.matches("-?[0-9]{1,18}")) {
            return Long.valueOf(digits);
        }
        return new BigDecimal(digits);
    }

    private Object word(String word, Object value) {
        if (!text.startsWith(word, index)) {
            throw fault("there is no value");
        }
        index += word.length();
        return value;
    }

    private boolean takes(char character) {
        skipSpace();
        boolean isHere = index < text.length() && text.charAt(index) == character;
        index += isHere ? 1 : 0;
        return isHere;
    }

    private void skipSpace() {
        while (index < text.length() && " \t\n\r".indexOf(text.charAt(index)) >= 0) {
            index++;
        }
    }

    private IllegalArgumentException fault(String detail) {
        return new IllegalArgumentException("This is not JSON, at character " + index + ": " + detail + ".");
    }

    // Writing

    private static void write(Object value, StringBuilder result) {
        if (value == null || value instanceof Boolean || value instanceof Number) {
            result.append(value);
        } else if (value instanceof Map<?, ?> map) {
            result.append('{');
            String separator = "";
            for (Map.Entry<?, ?> member : map.entrySet()) {
                result.append(separator);
                quote(String.valueOf(member.getKey()), result);
                result.append(':');
                write(member.getValue(), result);
                separator = ",";
            }
            result.append('}');
        } else if (value instanceof Iterable<?> items) {
            result.append('[');
            String separator = "";
            for (Object item : items) {
                result.append(separator);
                write(item, result);
                separator = ",";
            }
            result.append(']');
        } else if (value instanceof CharSequence) {
            quote(value.toString(), result);
        } else {
            throw new IllegalArgumentException(value.getClass().getName() + " is not a value of JSON.");
        }
    }

    private static void quote(String text, StringBuilder result) {
        result.append('"');
        for (int index = 0; index < text.length(); index++) {
            char character = text.charAt(index);
            if (character == '"' || character == '\\') {
                result.append('\\').append(character);
            } else if (character < ' ' || Character.isSurrogate(character)) {
                result.append(String.format("\\u%04x", (int) character));
            } else {
                result.append(character);
            }
        }
        result.append('"');
    }
}
