package dev.stagger.webhooks;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON (RFC 8259) as maps, lists, strings, numbers, booleans and null. */
final class Json {
    private static final int DEEPEST = 100;
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    static Object read(String text) {
        var json = new Json(text);
        var value = json.value(0);
        json.blanks();
        if (json.at < text.length()) {
            throw json.wrong("the end");
        }
        return value;
    }

    static String write(Object value) {
        var out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
        if (value == null || value instanceof Boolean || value instanceof Number) {
            out.append(value);
        } else if (value instanceof Map<?, ?> map) {
            var separator = "{";
            for (var entry : map.entrySet()) {
                out.append(separator);
                quote(String.valueOf(entry.getKey()), out);
                out.append(':');
                write(entry.getValue(), out);
                separator = ",";
            }
            out.append(map.isEmpty() ? "{}" : "}");
        } else if (value instanceof Iterable<?> items) {
            out.append('[');
            var separator = "";
            for (var item : items) {
                out.append(separator);
                write(item, out);
                separator = ",";
            }
            out.append(']');
        } else {
            quote(value.toString(), out);
        }
    }

    private static void quote(String text, StringBuilder out) {
        out.append('"');
        for (var i = 0; i < text.length(); i++) {
            var letter = text.charAt(i);
            if (letter == '"' || letter == '\\') {
                out.append('\\').append(letter);
            } else if (letter < ' ') {
                out.append(String.format("\\u%04x", (int) letter));
            } else {
                out.append(letter);
            }
        }
        out.append('"');
    }

    private Object value(int depth) {
        blanks();
        if (depth > DEEPEST) {
            throw wrong("at most " + DEEPEST + " values within each other");
        }
        return switch (peek()) {
            case '{' -> object(depth);
            case '[' -> list(depth);
            case '"' -> string();
            case 't' -> word("true", Boolean.TRUE);
            case 'f' -> word("false", Boolean.FALSE);
            case 'n' -> word("null", null);
            default -> number();
        };
    }

    private Map<String, Object> object(int depth) {
        var members = new LinkedHashMap<String, Object>();
        at++;
        for (var first = true; !ends('}', first); first = false) {
            blanks();
            var name = string();
            blanks();
            expect(':');
            members.put(name, value(depth + 1));
        }
        return members;
    }

    private List<Object> list(int depth) {
        var items = new ArrayList<>();
        at++;
        for (var first = true; !ends(']', first); first = false) {
            items.add(value(depth + 1));
        }
        return items;
    }

    /** Whether the list ends here; else passes over the comma before the next entry. */
    private boolean ends(char end, boolean first) {
        blanks();
        if (peek() == end) {
            at++;
            return true;
        }
        if (!first) {
            expect(',');
        }
        return false;
    }

    private String string() {
        expect('"');
        var out = new StringBuilder();
        while (true) {
            var letter = peek();
            at++;
            if (letter == '"') {
                return out.toString();
            }
            out.append(letter == '\\' ? escaped() : letter);
        }
    }

    private char escaped() {
        var letter = peek();
        at++;
        switch (letter) {
            case 'n':
                return '\n';
            case 't':
                return '\t';
            case 'r':
                return '\r';
            case 'b':
                return '\b';
            case 'f':
                return '\f';
            case 'u':
                if (at + 4 > text.length()) {
                    throw wrong("four digits");
                }
                at += 4;
                return (char) Integer.parseInt(text.substring(at - 4, at), 16);
            default:
                return letter;
        }
    }

    private Object word(String word, Object value) {
        if (!text.startsWith(word, at)) {
            throw wrong(word);
        }
        at += word.length();
        return value;
    }

    private Object number() {
        var from = at;
        while (at < text.length() && "+-.eE0123456789".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        var digits = text.substring(from, at);
        if (digits.matches("-?[0-9]{1,18}")) {
            return Long.parseLong(digits);
        }
        try {
            return new BigDecimal(digits);
        } catch (NumberFormatException error) {
            at = from;
            throw wrong("a value");
        }
    }

    private void blanks() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private char peek() {
        if (at >= text.length()) {
            throw wrong("more");
        }
        return text.charAt(at);
    }

    private void expect(char letter) {
        if (peek() != letter) {
            throw wrong("'" + letter + "'");
        }
        at++;
    }

    private IllegalArgumentException wrong(String wanted) {
        return new IllegalArgumentException("not JSON at character " + at + ": must be " + wanted);
    }
}
